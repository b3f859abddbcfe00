//! Permits, caps and turns: who runs what at a time.

use crate::stage::{Stage, seconds};

#[tokio::test]
async fn no_more_runs_than_permits_and_the_rest_stays_visible_in_the_queue() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 3, 4_000).await;
    for _ in 0..20 {
        stage.submit("m", "x takes 10").await;
    }
    stage.pass(seconds(5)).await;
    assert_eq!(node.runtime.script().most_running["m"], 3);
    assert_eq!(stage.waiting("m").await, 17);
    stage.pass(seconds(75)).await;
    assert_eq!(node.runtime.bodies().len(), 20);
    assert_eq!(node.runtime.script().most_running["m"], 3);
}

#[tokio::test]
async fn an_exclusive_model_runs_one_request_per_member() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| {
        (model.terms.exclusive, model.terms.members) = (true, 2);
    });
    let node = stage.worker("gpu-1", 8, 4_000).await;
    for _ in 0..6 {
        stage.submit("m", "x takes 1").await;
    }
    stage.pass(seconds(8)).await;
    assert_eq!(node.runtime.bodies().len(), 6);
    assert_eq!(node.runtime.script().most_running["m"], 2);
}

#[tokio::test]
async fn a_burst_fans_out_to_the_cap_and_no_further() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.max_workers = 2);
    let mut nodes = Vec::new();
    for name in ["gpu-1", "gpu-2", "gpu-3", "gpu-4"] {
        nodes.push(stage.worker(name, 1, 4_000).await);
    }
    stage.pass(seconds(3)).await;
    for _ in 0..200 {
        stage.submit("m", "x takes 1").await;
    }
    stage.pass(seconds(60)).await;
    let loads = nodes.iter().map(|node| node.runtime.script().loads.len());
    assert_eq!(loads.sum::<usize>(), 2);
    let ran: usize = nodes.iter().map(|node| node.runtime.bodies().len()).sum();
    assert!(ran >= 80, "{ran}");
}

#[tokio::test]
async fn identical_workers_do_not_all_load_one_rare_model() {
    let mut stage = Stage::new();
    stage.deploy("rare", |_| {});
    let mut nodes = Vec::new();
    for name in ["gpu-1", "gpu-2", "gpu-3", "gpu-4"] {
        nodes.push(stage.worker(name, 4, 4_000).await);
    }
    stage.pass(seconds(5)).await;
    let job = stage.submit("rare", "x").await;
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&job).is_some());
    let loads = nodes.iter().map(|node| node.runtime.script().loads.len());
    assert_eq!(loads.sum::<usize>(), 1);
}

#[tokio::test]
async fn preemptible_work_yields_its_memory_to_other_work() {
    let mut stage = Stage::new();
    stage.deploy("batch", |model| model.terms.preemptible = true);
    stage.deploy("urgent", |_| {});
    let node = stage.worker("gpu-1", 2, 1_000).await;
    let batch = stage.submit("batch", "x takes 600").await;
    stage.pass(seconds(2)).await;
    assert_eq!(node.runtime.script().running["batch"], 1);
    let urgent = stage.submit("urgent", "y").await;
    stage.pass(seconds(4)).await;
    assert!(
        stage.gateway.result(&urgent).is_some(),
        "{:?}",
        node.runtime.script().loads
    );
    assert!(stage.gateway.result(&batch).is_none());
    assert_eq!(node.runtime.script().running["batch"], 0);
}

#[tokio::test]
async fn preemptible_work_yields_also_when_its_queue_was_left_and_joined_again() {
    let mut stage = Stage::new();
    stage.deploy("batch", |model| model.terms.preemptible = true);
    stage.deploy("urgent", |_| {});
    let node = stage.worker("gpu-1", 2, 1_000).await;
    stage.submit("batch", "x takes 600").await;
    stage.pass(seconds(2)).await;
    // A worker that rests leaves its queues; what it has in hand goes on.
    stage.gateway.state().draining = vec!["gpu-1".into()];
    stage.pass(seconds(2)).await;
    stage.gateway.state().draining.clear();
    stage.pass(seconds(2)).await;
    assert_eq!(node.runtime.script().running["batch"], 1);
    let urgent = stage.submit("urgent", "y").await;
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&urgent).is_some());
}

#[tokio::test]
async fn preemptible_work_has_the_memory_of_a_young_model_that_is_idle() {
    let mut stage = Stage::new();
    stage.deploy("batch", |model| model.terms.preemptible = true);
    stage.deploy("urgent", |_| {});
    let node = stage.worker("gpu-1", 2, 1_000).await;
    stage.submit("urgent", "y").await;
    stage.pass(seconds(2)).await;
    let batch = stage.submit("batch", "x").await;
    stage.pass(seconds(12)).await;
    assert_eq!(node.runtime.script().loads, ["urgent", "batch"]);
    assert!(stage.gateway.result(&batch).is_some());
}

#[tokio::test]
async fn who_may_not_hold_a_model_any_more_gives_its_job_back_and_lets_the_model_go() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.max_workers = 1);
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(2)).await;
    assert_eq!(node.runtime.script().loads, ["m"]);
    let others = [("m".to_owned(), ["gpu-2".to_owned()].into())];
    stage.gateway.state().seats = others.into();
    let job = stage.submit("m", "y").await;
    stage.pass(seconds(2)).await;
    assert_eq!(node.runtime.script().unloads, ["m"]);
    assert_eq!(stage.waiting("m").await, 1);
    stage.gateway.state().seats.clear();
    stage.pass(seconds(10)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(stage.gateway.state().most_attempts, 0, "nothing was begun");
}
