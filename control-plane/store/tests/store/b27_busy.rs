use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use thermocline_store::{DeploymentRow, NewEvent, Store};
use tokio::task::JoinSet;

use crate::support::{Folder, NOW, with_deployments};

const CLIENTS: u64 = 50;
const DEPLOYMENTS: u64 = 10;
const UPDATES: u64 = 16;
const COUNTERS: u64 = 4;
const BATCHES: u64 = 25;
const BATCH: u64 = 8;

/// The output of `work`, unless its client leaves when it has been polled `polls` times.
async fn unless_left<T>(polls: u64, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    poll_fn(|cx| match left.checked_sub(1) {
        None => Poll::Ready(None),
        Some(fewer) => {
            left = fewer;
            work.as_mut().poll(cx).map(Some)
        }
    })
    .await
}

/// Every third call is left early, at a place that differs from call to call.
fn patience(seed: u64) -> u64 {
    let noise = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    if noise.is_multiple_of(3) {
        noise / 3 % 12
    } else {
        u64::MAX
    }
}

/// One client's updates; the rows that it was answered with.
async fn updates(store: Store, client: u64) -> Vec<DeploymentRow> {
    let name = format!("d{}", client % DEPLOYMENTS);
    let mut answered = Vec::new();
    for i in 0..UPDATES {
        let spec = format!("{client}:{i}");
        let update = store.update_spec(&name, None, &spec, NOW);
        if let Some(row) = unless_left(patience(client << 16 | i), update).await {
            answered.push(row.unwrap());
        }
    }
    answered
}

/// One counter's event batches; those that were acknowledged.
async fn counts(store: Store, counter: u64) -> Vec<String> {
    let mut answered = Vec::new();
    for i in 0..BATCHES {
        let kind = format!("{counter}:{i}");
        let events: Vec<_> = (0..BATCH).map(|n| event(&kind, n)).collect();
        let append = store.append_events(&events);
        if let Some(seq) = unless_left(patience(!counter << 16 | i), append).await {
            seq.unwrap();
            answered.push(kind);
        }
    }
    answered
}

fn event(kind: &str, n: u64) -> NewEvent {
    NewEvent {
        at: NOW,
        kind: kind.into(),
        deployment: None,
        body: n.to_string(),
    }
}

/// Lists everything again and again, until told to end; some of it is left early too.
async fn reads(store: Store, end: Arc<AtomicBool>) {
    for seed in 0.. {
        if end.load(Ordering::Relaxed) {
            return;
        }
        assert_eq!(store.deployments().await.unwrap().len() as u64, DEPLOYMENTS);
        if let Some(events) = unless_left(patience(seed), store.events_after(0, u32::MAX)).await {
            events.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b27_no_write_is_refused_or_lost_when_many_write_read_and_leave() {
    let folder = Folder::new();
    let store = folder.open().await;
    let names: Vec<_> = (0..DEPLOYMENTS).map(|d| format!("d{d}")).collect();
    with_deployments(&store, &names.iter().map(|n| &**n).collect::<Vec<_>>()).await;

    let end = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn(reads(store.clone(), end.clone()));
    let mut clients = JoinSet::new();
    let mut counters = JoinSet::new();
    (0..CLIENTS).for_each(|client| drop(clients.spawn(updates(store.clone(), client))));
    (0..COUNTERS).for_each(|counter| drop(counters.spawn(counts(store.clone(), counter))));
    let answered = clients.join_all().await.concat();
    let acknowledged = counters.join_all().await.concat();
    end.store(true, Ordering::Relaxed);
    reader.await.unwrap();

    every_answered_update_counts(&store, &answered).await;
    every_batch_is_whole(&store, &acknowledged).await;
    every_connection_is_free(&folder, &store).await;
}

async fn every_answered_update_counts(store: &Store, answered: &[DeploymentRow]) {
    assert!(answered.len() as u64 > CLIENTS * UPDATES / 2);
    assert!(
        (answered.len() as u64) < CLIENTS * UPDATES,
        "some were left"
    );
    let mut by_name = BTreeMap::<&str, BTreeMap<i64, &str>>::new();
    for row in answered {
        let earlier = by_name
            .entry(&row.name)
            .or_default()
            .insert(row.generation, &row.spec);
        assert_eq!(earlier, None, "a generation was given twice");
    }
    for row in store.deployments().await.unwrap() {
        let (newest, spec) = by_name[&*row.name].last_key_value().unwrap();
        // What was left early may have been done, whole.
        assert!(row.generation >= *newest);
        assert!(row.generation > *newest || row.spec == *spec);
    }
}

async fn every_batch_is_whole(store: &Store, acknowledged: &[String]) {
    let mut sizes = BTreeMap::<String, u64>::new();
    for event in store.events_after(0, u32::MAX).await.unwrap() {
        *sizes.entry(event.kind).or_default() += 1;
    }
    assert!(sizes.values().all(|size| *size == BATCH));
    let present: BTreeSet<_> = sizes.keys().collect();
    assert!(acknowledged.iter().all(|kind| present.contains(kind)));
}

/// Also for another process: no transaction was left open.
async fn every_connection_is_free(folder: &Folder, store: &Store) {
    let other = folder.open().await;
    other.set_stopped("d0", true, NOW).await.unwrap();
    store.set_stopped("d1", true, NOW).await.unwrap();
    let mut reads = JoinSet::new();
    for _ in 0..CLIENTS {
        let store = store.clone();
        reads.spawn(async move { store.deployment("d0").await.unwrap().unwrap().stopped });
    }
    assert!(reads.join_all().await.into_iter().all(|stopped| stopped));
}
