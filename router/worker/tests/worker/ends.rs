//! How jobs, workers and runtimes end, and what the client gets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_broker::{Broker, Limits, Topic};
use thermocline_cable::Cable;
use thermocline_wire::fleet::{Report, WorkerState};
use thermocline_worker::Settings;

use crate::stage::{Stage, seconds};

#[tokio::test]
async fn ten_thousand_expired_jobs_cost_no_second_of_a_gpu() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    for _ in 0..10_000 {
        stage.gateway.submit("m", "x", seconds(1)).await;
    }
    stage.time.advance(seconds(2));
    let node = stage.worker("gpu-1", 4, 4_000).await;
    let alive = stage.submit("m", "y").await;
    for _ in 0..20_000 {
        stage.pass(Duration::from_millis(10)).await;
        if stage.gateway.result(&alive).is_some() {
            break;
        }
    }
    assert!(stage.gateway.result(&alive).is_some());
    assert_eq!(node.runtime.bodies(), ["y"]);
    assert_eq!(stage.gateway.state().refused["Expired"], 10_000);
}

#[tokio::test]
async fn a_load_is_told_of_where_there_was_one() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 1, 4_000).await;
    let load = seconds(3);
    node.runtime.script().load_time.insert("m".into(), load);
    for (text, told) in [("cold", 3_000..4_000), ("warm", 0..1)] {
        let job = stage.submit("m", text).await;
        stage.pass(seconds(8)).await;
        assert!(stage.gateway.result(&job).is_some());
        let load = stage.gateway.state().loads_ms.pop().unwrap();
        assert!(told.contains(&load), "{text}: {load} ms");
    }
}

#[tokio::test]
async fn who_stayed_in_the_queue_is_told_of_the_load_too() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 1, 4_000).await;
    let load = seconds(3);
    node.runtime.script().load_time.insert("m".into(), load);
    stage.submit("m", "first").await;
    stage.submit("m", "second").await;
    stage.pass(seconds(8)).await;
    let loaded = stage.gateway.state().loaded.clone();
    let took: Vec<u64> = loaded.iter().map(|span| span.took_ms).collect();
    assert_eq!(took, [3_000, 3_000]);
    assert!(loaded.iter().all(|span| span.ago_ms < 1_000), "{loaded:?}");
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_run_with_it() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 1, 4_000).await;
    let job = stage.submit("m", "x takes 600").await;
    stage.pass(seconds(2)).await;
    stage.gateway.leave(&job);
    stage.pass(seconds(1)).await;
    assert_eq!(node.runtime.script().running["m"], 0);
    let next = stage.submit("m", "y").await;
    stage.pass(seconds(1)).await;
    assert!(stage.gateway.result(&next).is_some());
    assert_eq!(stage.waiting("m").await, 0);
}

#[tokio::test]
async fn a_deadline_ends_a_run() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 1, 4_000).await;
    stage.gateway.submit("m", "x takes 600", seconds(5)).await;
    stage.pass(seconds(4)).await;
    assert_eq!(node.runtime.script().running["m"], 1);
    stage.pass(seconds(2)).await;
    assert_eq!(node.runtime.script().running["m"], 0);
    assert_eq!(node.runtime.bodies().len(), 1);
}

#[tokio::test]
async fn b32_a_worker_that_is_told_to_end_ends_its_job_and_acknowledges_it() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let mut node = stage.worker("gpu-1", 2, 4_000).await;
    let job = stage.submit("m", "x takes 10").await;
    stage.pass(seconds(5)).await;
    node.worker.drain();
    let late = stage.submit("m", "late").await;
    stage.pass(seconds(3)).await;
    assert_eq!(*node.worker.state().borrow(), WorkerState::Draining);
    stage.pass(seconds(5)).await;
    node.worker.ended().await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(stage.waiting("m").await, 1);
    assert_eq!(node.runtime.script().unloads, ["m"]);
    let other = stage.worker("gpu-2", 2, 4_000).await;
    stage.pass(seconds(15)).await;
    assert!(stage.gateway.result(&late).is_some());
    assert_eq!(other.runtime.bodies(), ["late"]);
}

#[tokio::test]
async fn the_last_word_of_a_worker_is_that_it_is_gone() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let mut node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(5)).await;
    let reports = stage.broker.listen(Topic::Report).await.unwrap();
    node.worker.drain();
    stage.pass(seconds(1)).await;
    node.worker.ended().await;
    let read = |body: Bytes| serde_json::from_slice::<Report>(&body).unwrap();
    let said: Vec<Report> = reports.map(read).ready_chunks(99).next().await.unwrap();
    let [.., drained, last] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(
        (drained.state, drained.resident.len()),
        (WorkerState::Draining, 1)
    );
    assert_eq!((last.valid_ms, last.resident.len()), (0, 0));
}

#[tokio::test]
async fn a_worker_that_a_gateway_sends_to_rest_takes_nothing_and_then_goes_on() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 2, 4_000).await;
    let first = stage.submit("m", "x takes 5").await;
    stage.pass(seconds(2)).await;
    stage.gateway.state().draining = vec!["gpu-1".into()];
    stage.pass(seconds(1)).await;
    let second = stage.submit("m", "y").await;
    stage.pass(seconds(5)).await;
    assert!(stage.gateway.result(&first).is_some());
    assert_eq!(*node.worker.state().borrow(), WorkerState::Draining);
    assert_eq!(stage.waiting("m").await, 1);
    stage.gateway.state().draining.clear();
    stage.pass(seconds(2)).await;
    assert!(stage.gateway.result(&second).is_some());
}

#[tokio::test]
async fn b32_what_a_draining_worker_did_not_begin_counts_no_attempt() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let mut node = stage.worker("gpu-1", 1, 4_000).await;
    stage.submit("m", "warm up").await;
    stage.pass(seconds(1)).await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(stage.submit("m", "x").await);
    }
    // Delivered, and not looked at by anybody.
    node.worker.drain();
    stage.pass(seconds(5)).await;
    node.worker.ended().await;
    let other = stage.worker("gpu-2", 4, 4_000).await;
    stage.pass(seconds(5)).await;
    let done = jobs
        .iter()
        .filter(|job| stage.gateway.result(job).is_some());
    assert_eq!(done.count(), 3);
    assert!(!other.runtime.bodies().is_empty());
    assert_eq!(stage.gateway.state().most_attempts, 0);
}

#[tokio::test]
async fn a_worker_that_is_to_keep_its_models_leaves_them_running() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let keep = |settings: &mut Settings| settings.keep_models = true;
    let mut node = stage.worker_with("gpu-1", 1, 4_000, keep).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(1)).await;
    node.worker.drain();
    stage.pass(seconds(1)).await;
    node.worker.ended().await;
    assert!(node.runtime.script().unloads.is_empty());
}

#[tokio::test]
async fn one_bad_answer_of_the_runtime_is_no_death() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    stage.deploy("n", |_| {});
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("n", "x").await;
    stage.submit("m", "x").await;
    stage.pass(seconds(1)).await;
    // A run that dies makes the worker look, and it sees nothing at first.
    node.runtime.script().bad_answers = 1;
    stage.submit("m", "it kills").await;
    stage.pass(seconds(3)).await;
    assert_eq!(*node.worker.state().borrow(), WorkerState::Ready);
    let quick = stage.submit("n", "y").await;
    stage.pass(seconds(1)).await;
    assert!(stage.gateway.result(&quick).is_some());
    let loads = node.runtime.script().loads.clone();
    assert_eq!(
        loads.iter().filter(|name| *name == "n").count(),
        1,
        "{loads:?}"
    );
}

fn short_lease() -> Limits {
    Limits {
        lease: seconds(10),
        ..Limits::default()
    }
}

#[tokio::test]
async fn b33_a_job_longer_than_the_lease_is_delivered_once() {
    let mut stage = Stage::with(short_lease());
    stage.deploy("m", |_| {});
    let first = stage.worker("gpu-1", 1, 4_000).await;
    let second = stage.worker("gpu-2", 1, 4_000).await;
    let job = stage.submit("m", "x takes 35").await;
    stage.pass(seconds(45)).await;
    assert!(stage.gateway.result(&job).is_some());
    let ran = first.runtime.bodies().len() + second.runtime.bodies().len();
    assert_eq!(ran, 1);
}

#[tokio::test]
async fn b32_a_connection_that_is_cut_costs_a_delivery_and_no_second_answer() {
    let mut stage = Stage::with(short_lease());
    stage.deploy("m", |_| {});
    let cable = Cable::to(stage.broker.clone());
    let settings = Settings::new("gpu-1", 2);
    let node = stage
        .worker_on(Arc::new(cable.clone()), settings, 4_000)
        .await;
    let job = stage.submit("m", "x takes 10").await;
    stage.pass(seconds(5)).await;
    cable.cut();
    stage.pass(seconds(1)).await;
    cable.restore();
    stage.pass(seconds(15)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(node.runtime.bodies().len(), 2);
    assert_eq!(stage.gateway.state().most_attempts, 1);
    assert_eq!(stage.waiting("m").await, 0);
    let next = stage.submit("m", "y").await;
    stage.pass(seconds(1)).await;
    assert!(stage.gateway.result(&next).is_some());
}

#[tokio::test]
async fn b33_a_worker_whose_renewals_are_lost_is_superseded_and_answers_nobody() {
    let mut stage = Stage::with(short_lease());
    stage.deploy("m", |_| {});
    let cable = Cable::to(stage.broker.clone());
    let settings = Settings::new("gpu-1", 1);
    let deaf = stage
        .worker_on(Arc::new(cable.clone()), settings, 4_000)
        .await;
    let job = stage.submit("m", "x takes 35").await;
    stage.pass(seconds(1)).await;
    cable.lose_renewals(true);
    let healthy = stage.worker("gpu-2", 1, 4_000).await;
    stage.pass(seconds(15)).await;
    cable.lose_renewals(false);
    assert_eq!(deaf.runtime.bodies().len(), 1);
    assert_eq!(healthy.runtime.bodies().len(), 1);
    stage.pass(seconds(40)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(stage.gateway.state().most_attempts, 1);
    assert_eq!(deaf.runtime.script().running["m"], 0);
    assert_eq!(stage.waiting("m").await, 0);
}

#[tokio::test]
async fn b33_a_job_of_a_killed_worker_is_answered_by_another() {
    let mut stage = Stage::with(short_lease());
    stage.deploy("m", |_| {});
    let first = stage.worker("gpu-1", 1, 4_000).await;
    let job = stage.submit("m", "x takes 35").await;
    stage.pass(seconds(12)).await;
    assert_eq!(first.runtime.bodies().len(), 1);
    drop(first);
    let second = stage.worker("gpu-2", 1, 4_000).await;
    // The lease and a tick, had it been renewed at the very end.
    stage.pass(seconds(11)).await;
    assert_eq!(second.runtime.bodies().len(), 1);
    stage.pass(seconds(35)).await;
    assert!(stage.gateway.result(&job).is_some());
}

#[tokio::test]
async fn a_worker_whose_runtime_is_down_takes_nothing_until_it_is_back() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(2)).await;
    node.runtime.dies(true);
    stage.pass(seconds(5)).await;
    assert_eq!(*node.worker.state().borrow(), WorkerState::Down);
    let job = stage.submit("m", "y").await;
    stage.pass(seconds(20)).await;
    assert_eq!(stage.waiting("m").await, 1);
    node.runtime.dies(false);
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(node.runtime.script().loads, ["m", "m"]);
}

#[tokio::test]
async fn a_job_whose_gateway_is_gone_is_dropped() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(1)).await;
    {
        let mut state = stage.gateway.state();
        state.silent = true;
        state.cut_off.insert("gpu-1".into());
    }
    stage.pass(seconds(6)).await;
    stage.submit("m", "y").await;
    stage.pass(seconds(5)).await;
    assert_eq!(stage.waiting("m").await, 0);
    assert_eq!(node.runtime.bodies(), ["x"]);
}

#[tokio::test]
async fn a_worker_that_alone_does_not_reach_the_gateway_leaves_the_job_to_others() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let cut_off = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(2)).await;
    stage.gateway.state().cut_off.insert("gpu-1".into());
    let job = stage.submit("m", "y").await;
    stage.pass(seconds(2)).await;
    let other = stage.worker("gpu-2", 2, 4_000).await;
    stage.pass(seconds(15)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(cut_off.runtime.bodies(), ["x"]);
    assert_eq!(other.runtime.bodies(), ["y"]);
}
