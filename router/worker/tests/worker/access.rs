//! Workers whose token is not known, or not for everything.

use thermocline_wire::fleet::WorkerState;

use crate::stage::{Stage, seconds};

#[tokio::test]
async fn a_worker_that_no_gateway_knows_says_so_takes_nothing_and_keeps_nobody_waiting() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    stage.gateway.state().strangers = ["gpu-1".to_owned(), "gpu-2".to_owned()].into();
    let strangers = [
        stage.worker("gpu-1", 2, 4_000).await,
        stage.worker("gpu-2", 2, 4_000).await,
    ];
    let known = stage.worker("gpu-3", 2, 4_000).await;
    stage.pass(seconds(3)).await;
    for node in &strangers {
        assert_eq!(*node.worker.state().borrow(), WorkerState::Barred);
    }
    assert_eq!(*known.worker.state().borrow(), WorkerState::Ready);
    let job = stage.submit("m", "x").await;
    stage.pass(seconds(1)).await;
    assert!(stage.gateway.result(&job).is_some());
    assert!(
        strangers
            .iter()
            .all(|it| it.runtime.script().loads.is_empty())
    );
    stage.gateway.state().strangers.clear();
    stage.pass(seconds(8)).await;
    assert_eq!(*strangers[0].worker.state().borrow(), WorkerState::Ready);
}

#[tokio::test]
async fn a_token_that_is_withdrawn_is_noticed_with_the_next_claim() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let node = stage.worker("gpu-1", 2, 4_000).await;
    stage.submit("m", "x").await;
    stage.pass(seconds(2)).await;
    stage.gateway.state().strangers.insert("gpu-1".to_owned());
    let job = stage.submit("m", "y").await;
    stage.pass(seconds(3)).await;
    assert_eq!(*node.worker.state().borrow(), WorkerState::Barred);
    assert_eq!(
        (stage.waiting("m").await, stage.gateway.result(&job)),
        (1, None)
    );
}

#[tokio::test]
async fn who_may_not_pull_a_queue_takes_no_turn_in_its_order() {
    let mut stage = Stage::new();
    let names: Vec<String> = (0..6).map(|n| format!("gpu-{n}")).collect();
    let others = &names[1..];
    let may_pull = others.iter().map(|it| (it.clone(), vec!["b*".to_owned()]));
    stage.gateway.state().may_pull = may_pull.collect();
    let mut nodes = Vec::new();
    for name in &names {
        nodes.push(stage.worker(name, 2, 4_000).await);
    }
    stage.pass(seconds(3)).await;
    for model in ["a1", "a2", "a3"] {
        stage.deploy(model, |_| {});
        stage.pass(seconds(1)).await;
        let job = stage.submit(model, "x").await;
        stage.pass(seconds(1) / 2).await;
        assert!(stage.gateway.result(&job).is_some(), "{model} waited");
    }
    assert!(
        nodes[1..]
            .iter()
            .all(|it| it.runtime.script().loads.is_empty())
    );
}
