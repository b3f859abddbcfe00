//! Five thousand queues, scored by one worker among fifty.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use thermocline_policy::Moment;
use thermocline_policy::fleet::{
    Identity, Mib, Peer, QueueView, Residence, Scoring, Shape, Terms, WorkerView, subscriptions,
};

fn peer(index: usize) -> Peer {
    Peer {
        id: Identity::of(&format!("worker-{index}")),
        shape: Shape::Gpu,
        memory: Mib(80_000),
        free: Mib(1_000 * index as u64),
        busy: index.is_multiple_of(5),
    }
}

/// Of ten queues three have jobs, two are served by others, and one is held here.
fn view<'a>(
    name: &'a str,
    index: usize,
    terms: &'a Terms,
    holders: &'a [Identity],
) -> QueueView<'a> {
    QueueView {
        queue: name,
        id: Identity::of(name),
        terms: Some(terms),
        waiting: if index % 10 < 3 { index as u32 } else { 0 },
        oldest: Duration::from_millis(index as u64),
        holders: if index % 10 < 2 { holders } else { &[] },
        barred: &[],
        residence: if index % 10 == 9 {
            Residence::Resident
        } else {
            Residence::Absent
        },
        subscribed: index % 10 == 9,
        last_served: None,
    }
}

fn five_thousand_queues(c: &mut Criterion) {
    let peers: Vec<Peer> = (1..50).map(peer).collect();
    let holders: Vec<Identity> = peers.iter().take(8).map(|peer| peer.id).collect();
    let terms = Terms {
        memory: Mib(8_000),
        ..Terms::default()
    };
    let names: Vec<String> = (0..5_000).map(|i| format!("model-{i}")).collect();
    let queues: Vec<QueueView> = names
        .iter()
        .enumerate()
        .map(|(index, name)| view(name, index, &terms, &holders))
        .collect();
    let worker = WorkerView {
        reported: peer(0),
        devices: &[Mib(80_000)],
        cold: 4,
        peers: &peers,
    };
    let now = Moment::from_origin(Duration::from_secs(1_000));
    c.bench_function("subscriptions/5000 queues, 50 workers", |b| {
        b.iter(|| subscriptions(&worker, &queues, &Scoring::default(), now));
    });
}

criterion_group!(benches, five_thousand_queues);
criterion_main!(benches);
