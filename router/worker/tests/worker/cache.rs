//! A GPU's memory as a cache of models.

use futures_util::{FutureExt, StreamExt};
use thermocline_broker::{Broker, Topic};
use thermocline_wire::fleet::{Report, WorkerState};

use crate::stage::{Stage, seconds, settle};

#[tokio::test]
async fn a_rare_model_is_loaded_on_demand_and_then_it_is_warm() {
    let mut stage = Stage::new();
    stage.deploy("rare", |_| {});
    let node = stage.worker("gpu-1", 4, 4_000).await;
    let first = stage.submit("rare", "a").await;
    stage.pass(seconds(1)).await;
    assert_eq!(
        stage.gateway.result(&first).as_deref(),
        Some("rare answers a")
    );
    let second = stage.submit("rare", "b").await;
    settle().await;
    assert_eq!(
        stage.gateway.result(&second).as_deref(),
        Some("rare answers b")
    );
    assert_eq!(node.runtime.script().loads, ["rare"]);
    assert_eq!(stage.waiting("rare").await, 0);
}

#[tokio::test]
async fn a_model_without_room_evicts_an_idle_one_and_memory_is_never_overfull() {
    let mut stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.deploy(name, |model| model.terms.memory_mib = 2_000);
    }
    let node = stage.worker("gpu-1", 4, 4_000).await;
    for name in ["a", "b", "c"] {
        let job = stage.submit(name, "x").await;
        stage.pass(seconds(5)).await;
        assert!(stage.gateway.result(&job).is_some(), "{name}");
    }
    assert_eq!(node.runtime.script().unloads.len(), 1);
    assert_eq!(node.runtime.script().most_memory, 4_000);
}

#[tokio::test]
async fn what_a_failed_load_leaves_takes_memory_until_it_is_gone() {
    let mut stage = Stage::new();
    stage.deploy("broken", |model| model.image = "broken".into());
    stage.deploy("whole", |_| {});
    let node = stage.worker("gpu-1", 2, 1_000).await;
    node.runtime.script().stuck = true;
    stage.submit("broken", "x").await;
    stage.pass(seconds(2)).await;
    let job = stage.submit("whole", "y").await;
    stage.pass(seconds(20)).await;
    assert_eq!(node.runtime.script().loads, ["broken"]);
    node.runtime.script().stuck = false;
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(node.runtime.script().most_memory, 1_000);
}

#[tokio::test]
async fn two_cold_queues_are_not_looked_into_for_one_room() {
    let mut stage = Stage::new();
    stage.deploy("a", |_| {});
    stage.deploy("b", |_| {});
    let node = stage.worker("gpu-1", 2, 1_000).await;
    stage.submit("a", "x takes 60").await;
    stage.submit("b", "x takes 60").await;
    stage.pass(seconds(10)).await;
    let left = stage.waiting("a").await + stage.waiting("b").await;
    assert_eq!(left, 1, "the other is for whoever has room");
    assert_eq!(node.runtime.script().loads.len(), 1);
}

#[tokio::test]
async fn cold_queues_that_all_have_room_are_loaded_side_by_side() {
    let mut stage = Stage::new();
    stage.deploy("a", |_| {});
    stage.deploy("b", |_| {});
    let node = stage.worker("gpu-1", 2, 2_000).await;
    for name in ["a", "b"] {
        node.runtime
            .script()
            .load_time
            .insert(name.into(), seconds(60));
        stage.submit(name, "x").await;
    }
    stage.pass(seconds(5)).await;
    assert_eq!(node.runtime.script().loads.len(), 2);
}

#[tokio::test]
async fn an_interleaved_backlog_costs_one_load_per_model_and_keeps_its_order() {
    let mut stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.deploy(name, |model| model.terms.exclusive = true);
    }
    let node = stage.worker("gpu-1", 1, 1_000).await;
    for name in ["a", "b", "c"] {
        node.runtime
            .script()
            .load_time
            .insert(name.into(), seconds(10));
    }
    let mut jobs = Vec::new();
    for (index, name) in ["a", "b", "a", "a", "c", "a", "b", "c"].iter().enumerate() {
        jobs.push(stage.submit(name, &format!("{name}{index} takes 1")).await);
    }
    stage.pass(seconds(90)).await;
    let moments = node.runtime.moments();
    let script = node.runtime.script();
    let all = jobs.iter().all(|job| stage.gateway.result(job).is_some());
    assert!(all, "{:?} {:?} {moments:?}", script.loads, script.unloads);
    assert!(script.loads.len() <= 4, "{:?}", script.loads);
    for name in ["a", "b", "c"] {
        let runs = script.runs.iter().filter(|(queue, _, _)| queue == name);
        let order: Vec<&String> = runs.map(|(_, body, _)| body).collect();
        assert!(order.is_sorted(), "{order:?}");
    }
}

#[tokio::test]
async fn a_model_with_endless_work_makes_room_for_one_that_has_waited_long_enough() {
    let mut stage = Stage::new();
    stage.deploy("busy", |_| {});
    stage.deploy("other", |_| {});
    let node = stage.worker("gpu-1", 1, 1_000).await;
    for _ in 0..5 {
        stage.submit("busy", "x takes 1").await;
    }
    let mut other = String::new();
    for second in 0..60 {
        stage.submit("busy", "x takes 1").await;
        if second == 5 {
            other = stage.submit("other", "y").await;
        }
        stage.pass(seconds(1)).await;
    }
    let loads = node.runtime.script().loads.clone();
    assert!(stage.gateway.result(&other).is_some(), "{loads:?}");
    assert!(loads.len() <= 4, "{loads:?}");
}

#[tokio::test]
async fn a_load_of_five_minutes_is_waited_for_and_holds_nobody_else_up() {
    let mut stage = Stage::new();
    stage.deploy("huge", |_| {});
    stage.deploy("warm", |_| {});
    let node = stage.worker("gpu-1", 1, 4_000).await;
    node.runtime
        .script()
        .load_time
        .insert("huge".into(), seconds(300));
    stage.submit("warm", "x").await;
    stage.pass(seconds(2)).await;
    let slow = stage.submit("huge", "y").await;
    stage.pass(seconds(2)).await;
    assert_eq!(*node.worker.state().borrow(), WorkerState::Loading);
    for minute in 0..4 {
        stage.pass(seconds(60)).await;
        let quick = stage.submit("warm", "z").await;
        settle().await;
        assert!(stage.gateway.result(&quick).is_some(), "minute {minute}");
    }
    stage.pass(seconds(70)).await;
    assert!(stage.gateway.result(&slow).is_some());
    assert_eq!(node.runtime.script().loads, ["warm", "huge"]);
}

#[tokio::test]
async fn pinned_models_are_loaded_before_anybody_asks() {
    let mut stage = Stage::new();
    stage.deploy("pinned", |model| model.terms.pinned = true);
    let first = stage.worker("gpu-1", 2, 4_000).await;
    let second = stage.worker("gpu-2", 2, 4_000).await;
    stage.pass(seconds(3)).await;
    for node in [first, second] {
        assert_eq!(node.runtime.script().loads, ["pinned"]);
    }
}

#[tokio::test]
async fn a_worker_says_what_pinned_models_keep_from_others() {
    let mut stage = Stage::new();
    stage.deploy("pinned", |model| model.terms.pinned = true);
    stage.deploy("other", |_| {});
    let reports = stage.broker.listen(Topic::Report).await.unwrap();
    let mut reports = reports.map(|text| serde_json::from_slice::<Report>(&text).unwrap());
    let _node = stage.worker("gpu-1", 2, 3_000).await;
    stage.submit("other", "x").await;
    stage.pass(seconds(40)).await;
    let mut last = reports.next().now_or_never().flatten();
    while let Some(report) = reports.next().now_or_never().flatten() {
        last = Some(report);
    }
    let report = last.unwrap();
    assert_eq!((report.resident.len(), report.pinned_mib), (2, vec![1_000]));
}

#[tokio::test]
async fn a_pin_counts_as_it_is_announced_now() {
    let mut stage = Stage::new();
    stage.deploy("pinned", |model| model.terms.pinned = true);
    stage.deploy("other", |_| {});
    let node = stage.worker("gpu-1", 2, 1_000).await;
    stage.pass(seconds(40)).await;
    let job = stage.submit("other", "x").await;
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&job).is_none());
    stage.deploy("pinned", |_| {});
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(node.runtime.script().loads, ["pinned", "other"]);
    stage.deploy("other", |model| model.terms.pinned = true);
    stage.pass(seconds(40)).await;
    stage.submit("pinned", "y").await;
    stage.pass(seconds(10)).await;
    assert_eq!(node.runtime.script().loads, ["pinned", "other"]);
}

#[tokio::test]
async fn a_new_worker_loads_what_the_fleet_uses_most_and_no_more_than_it_has_permits() {
    let mut stage = Stage::new();
    for (name, workers) in [("capped", 1), ("hot", 0), ("warm", 0), ("cool", 0)] {
        stage.deploy(name, |model| model.terms.max_workers = workers);
    }
    let first = stage.worker("gpu-1", 4, 4_000).await;
    for (name, jobs) in [("capped", 9), ("hot", 6), ("warm", 3), ("cool", 1)] {
        first
            .runtime
            .script()
            .load_time
            .insert(name.into(), seconds(2));
        for _ in 0..jobs {
            stage.submit(name, "x").await;
        }
        stage.pass(seconds(10)).await;
    }
    let second = stage.worker("gpu-2", 2, 3_500).await;
    stage.pass(seconds(20)).await;
    assert_eq!(second.runtime.script().loads, ["hot", "warm"]);
    assert_eq!(first.runtime.script().loads.len(), 4);
}

#[tokio::test]
async fn an_idle_model_stays_until_its_deployment_is_gone() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.idle_timeout_s = 60);
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(100)).await;
    assert!(node.runtime.script().unloads.is_empty());
    stage.gateway.state().models.clear();
    stage.pass(seconds(2)).await;
    assert_eq!(node.runtime.script().unloads, ["m"]);
}

#[tokio::test]
async fn a_changed_model_is_loaded_anew_for_the_next_request() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(1)).await;
    stage.deploy("m", |model| model.generation = "2".into());
    let after = stage.submit("m", "y").await;
    stage.pass(seconds(1)).await;
    assert!(stage.gateway.result(&after).is_some());
    assert_eq!(node.runtime.script().loads, ["m", "m"]);
}
