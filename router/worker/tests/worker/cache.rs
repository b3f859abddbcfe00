//! A GPU's memory as a cache of models.

use thermocline_wire::fleet::WorkerState;

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
