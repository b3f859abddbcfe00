//! The shared fleet on several processes, each of which is killed again and
//! again while clients ask: RabbitMQ, the workers, the gateway.
//!
//! `THERMOCLINE_CHAOS_REQUESTS` and `THERMOCLINE_CHAOS_KILLS` say how many.

mod clients;
mod findings;
mod stage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clients::Clients;
use findings::{Findings, Recoveries};
use stage::{Stage, Victim};

/// What a client may be told while something is away: [A fleet of your
/// own](../../../../../docs/fleet.md) has the list.
const EXPECTED: [&str; 5] = [
    "502 poison",
    "503 no_capacity",
    "503 unavailable",
    "504 deadline",
    "504 timeout",
];

/// Kills each in its turn, spread over the requests; how long it took, from
/// when it was there again, until a request was answered that came after.
async fn kill_them_all(stage: &mut Stage, clients: &Clients, victims: &[Victim]) -> Recoveries {
    let mut recoveries = Recoveries::default();
    let between = clients.total / (victims.len() as u64 + 2);
    for (victim, turn) in victims.iter().zip(1..) {
        clients.reach(turn * between).await;
        stage.kill(*victim).await;
        let back = now();
        clients.answered_since(back).await;
        eprintln!("{victim:?} was killed; back after {:?}", back.elapsed());
        recoveries.add(*victim, back.elapsed());
    }
    recoveries
}

async fn run(requests: u64, victims: &[Victim]) {
    let Some(mut stage) = Stage::open().await else {
        return;
    };
    let clients = Arc::new(Clients::new(requests, stage.gateway()));
    let asking = clients.clone().ask_all();
    let killing = kill_them_all(&mut stage, &clients, victims);
    let (findings, recoveries) = tokio::join!(asking, killing);
    let kills = victims.len();
    eprintln!("{requests} requests, {kills} kills: {findings:?}\n{recoveries}");
    verdict(&findings, requests);
    assert_eq!(stage.left_behind().await, 0, "jobs that nobody settled");
}

fn verdict(findings: &Findings, requests: u64) {
    assert_eq!(findings.ended(), requests, "{findings:?}");
    assert_eq!(findings.hung, [] as [u64; 0]);
    assert_eq!(findings.misdelivered, [] as [u64; 0]);
    assert_eq!(findings.unclear, [] as [u64; 0]);
    let other = findings
        .refused
        .keys()
        .find(|it| !EXPECTED.contains(&it.as_str()));
    assert_eq!(other, None, "{findings:?}");
    assert!(findings.answered >= requests / 2, "{findings:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_when_anything_is_killed() {
    let victims = [
        Victim::Worker(0),
        Victim::Broker,
        Victim::Worker(1),
        Victim::Gateway,
        Victim::Worker(2),
        Victim::Broker,
    ];
    run(1_000, &victims).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes about an hour"]
async fn no_request_is_lost_in_a_long_chaos() {
    let number =
        |name, usual| std::env::var(name).map_or(usual, |it: String| it.parse().expect("a number"));
    let kills = number("THERMOCLINE_CHAOS_KILLS", 100);
    let victims: Vec<_> = (0..kills).map(victim).collect();
    run(number("THERMOCLINE_CHAOS_REQUESTS", 50_000), &victims).await;
}

/// Every tenth is the gateway; workers and the broker in turn between.
fn victim(kill: u64) -> Victim {
    match kill {
        _ if kill % 10 == 4 => Victim::Gateway,
        _ if kill.is_multiple_of(2) => Victim::Worker(kill as usize / 2),
        _ => Victim::Broker,
    }
}

#[allow(clippy::disallowed_methods)] // real processes keep real time
fn now() -> Instant {
    Instant::now()
}

#[allow(clippy::disallowed_methods)]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
