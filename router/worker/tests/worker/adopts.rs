//! A worker that begins again beside what its earlier life left running.

use thermocline_worker::Settings;

use crate::runtime::ScriptRuntime;
use crate::stage::{Node, Stage, seconds};

/// A worker whose earlier life left these generations running. A load takes 100 s.
async fn begun_again(stage: &Stage, left: &[(&str, &str)]) -> Node {
    let runtime = ScriptRuntime::new(stage.clock());
    for (name, generation) in left {
        let mut script = runtime.script();
        script.left.insert((*name).into(), (*generation).into());
        script.load_time.insert((*name).into(), seconds(100));
    }
    let settings = Settings::new("gpu-1", 4);
    stage
        .worker_over(runtime, stage.broker.clone(), settings, 2_000)
        .await
}

#[tokio::test]
async fn a_model_that_an_earlier_life_left_is_warm_before_anybody_asks() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = begun_again(&stage, &[("m", "1")]).await;
    stage.pass(seconds(3)).await;
    let job = stage.submit("m", "a").await;
    stage.pass(seconds(1)).await;
    assert_eq!(
        stage.gateway.result(&job).as_deref(),
        Some("m answers a"),
        "without the 100 s of a load"
    );
    assert!(node.runtime.script().unloads.is_empty());
}

#[tokio::test]
async fn what_nobody_wants_as_it_was_left_is_cleared_before_a_job_is_taken() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    stage.deploy("other", |_| {});
    let node = begun_again(&stage, &[("m", "0"), ("gone", "1")]).await;
    let job = stage.submit("other", "a").await;
    stage.pass(seconds(3)).await;
    assert!(stage.gateway.result(&job).is_some());
    let script = node.runtime.script();
    assert!(script.left.is_empty(), "{:?}", script.left);
    assert_eq!(
        script.loads,
        ["other"],
        "an older generation is not gone on with"
    );
}

#[tokio::test]
async fn a_worker_that_hears_no_gateway_clears_what_was_left() {
    let mut stage = Stage::new();
    stage.gateway.state().silent = true;
    stage.deploy("m", |_| {});
    let node = begun_again(&stage, &[("m", "1")]).await;
    stage.pass(seconds(5)).await;
    assert_eq!(node.runtime.script().left.len(), 1, "a gateway may be late");
    stage.pass(seconds(3)).await;
    assert!(node.runtime.script().left.is_empty());
}

#[tokio::test]
async fn a_worker_that_ends_before_it_has_adopted_leaves_nothing_running() {
    let mut stage = Stage::new();
    stage.gateway.state().silent = true;
    stage.deploy("m", |_| {});
    let mut node = begun_again(&stage, &[("m", "1")]).await;
    stage.pass(seconds(1)).await;
    node.worker.drain();
    node.worker.ended().await;
    assert!(node.runtime.script().left.is_empty());
}

#[tokio::test]
async fn what_is_adopted_takes_its_memory() {
    let mut stage = Stage::new();
    for name in ["a", "b"] {
        stage.deploy(name, |model| model.terms.memory_mib = 1_500);
    }
    let node = begun_again(&stage, &[("a", "1")]).await;
    stage.pass(seconds(3)).await;
    let job = stage.submit("b", "x").await;
    stage.pass(seconds(60)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert_eq!(
        node.runtime.script().most_memory,
        1_500,
        "one of them at a time"
    );
}
