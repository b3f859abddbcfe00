//! Many at once on one connection, which has 2,047 channels at most.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use thermocline_broker::{Broker, BrokerError, Depth, Limits};

use crate::scene::Scene;

/// More than a connection has channels.
const CROWD: usize = 3_000;

/// Whoever publishes into a new queue waits until it has settled; all of them
/// together ask the broker no more than one of them would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_before_a_new_queue_keeps_the_connection() {
    let Some(scene) = Scene::open(Limits::default()).await else {
        return;
    };
    let publishing = (0..CROWD).map(|_| scene.broker.publish("new", "job".into()));
    let published = join_all(publishing).await;
    let refused = reasons(&published);
    assert!(refused.is_empty(), "{refused:?}");
    // A lost connection would have made everybody publish again.
    let depth = scene.broker.depth("new").await.expect("it can be asked");
    assert_eq!(depth.waiting, CROWD as u64);
}

/// The broker closes a channel on which somebody looks at a queue that is not there, and
/// the channel's number is lost to its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_before_queues_that_are_not_there_keeps_the_connection() {
    let Some(scene) = Scene::open(Limits::default()).await else {
        return;
    };
    scene.broker.publish("held", "job".into()).await.unwrap();
    let held = scene.broker.take("held").await.unwrap().expect("a job");
    let names: Vec<String> = (0..CROWD).map(|i| format!("missing-{i}")).collect();
    for _ in 0..2 {
        let looks = join_all(names.iter().map(|name| scene.broker.depth(name))).await;
        let refused = reasons(&looks);
        assert!(refused.is_empty(), "{refused:?}");
        assert!(looks.into_iter().flatten().all(|it| it == Depth::default()));
        let takes = join_all(names.iter().map(|name| scene.broker.take(name))).await;
        let refused = reasons(&takes);
        assert!(refused.is_empty(), "{refused:?}");
    }
    held.ack().await.expect("what is in hand is not lost");
}

/// Why some were refused.
fn reasons<T>(all: &[Result<T, BrokerError>]) -> BTreeSet<String> {
    let refused = all.iter().filter_map(|it| it.as_ref().err());
    refused.map(|error| format!("{error:?}")).collect()
}
