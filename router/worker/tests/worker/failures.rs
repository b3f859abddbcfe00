//! Attempts, back-off, dead letters and poison.

use futures_util::StreamExt;
use thermocline_broker::{Broker, Burial};
use thermocline_wire::fleet::{Class, FailureKind};

use crate::gateway::{Answer, CREDENTIAL};
use crate::stage::{Stage, buried, seconds};

#[tokio::test]
async fn b31_a_fault_of_three_seconds_is_survived_by_attempts_at_growing_distances() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.max_attempts = 5);
    let mut graveyard = stage.graveyard().await;
    let node = stage.worker("gpu-1", 2, 4_000).await;
    node.runtime.script().broken_until = Some(stage.time.now() + seconds(3));
    let job = stage.submit("m", "x").await;
    stage.pass(seconds(20)).await;
    assert!(stage.gateway.result(&job).is_some());
    let at = node.runtime.moments();
    let gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.len() >= 2 && gaps.is_sorted() && gaps[0] >= 0.7,
        "{gaps:?}"
    );
    assert!(buried(&mut graveyard).await.is_empty());
}

#[tokio::test]
async fn b31_a_job_that_always_fails_has_its_attempts_and_then_one_dead_letter() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.max_attempts = 5);
    let mut graveyard = stage.graveyard().await;
    let node = stage.worker("gpu-1", 2, 4_000).await;
    let job = stage.submit("m", "it fails").await;
    stage.pass(seconds(60)).await;
    assert_eq!(node.runtime.bodies().len(), 5);
    let dead = buried(&mut graveyard).await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].class, Class::Transient);
    assert_eq!(dead[0].failure.status, Some(500));
    assert!(
        dead[0].failure.detail.contains("m answers it fails"),
        "{:?}",
        dead[0]
    );
    let answers = stage.gateway.answers(&job);
    assert!(
        matches!(&answers[..], [Answer::Failure(failure)] if failure.last),
        "{answers:?}"
    );
    assert_eq!(stage.waiting("m").await, 0);
}

#[tokio::test]
async fn what_a_model_shows_of_its_client_s_credentials_is_told_to_nobody() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.max_attempts = 2);
    let mut letters = stage.broker.dead_letters().await.unwrap();
    let _node = stage.worker("gpu-1", 1, 4_000).await;
    let job = stage.submit("m", &format!("it fails: {CREDENTIAL}")).await;
    stage.pass(seconds(20)).await;
    let letter = letters.next().await.unwrap();
    let Burial::GivenUp { report } = &letter.burial else {
        panic!("{:?}", letter.burial)
    };
    let written = [letter.delivery.body(), report].map(|it| String::from_utf8_lossy(it));
    for text in &written {
        assert!(text.contains("answers it fails: [secret]"), "{text}");
        assert!(!text.contains(CREDENTIAL), "{text}");
    }
    let told = format!("{:?}", stage.gateway.answers(&job));
    assert!(
        told.contains("[secret]") && !told.contains(CREDENTIAL),
        "{told}"
    );
}

#[tokio::test]
async fn a_request_that_kills_two_runtimes_is_poison_and_never_runs_a_third_time() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.terms.max_attempts = 10);
    let mut graveyard = stage.graveyard().await;
    let mut nodes = Vec::new();
    for name in ["gpu-1", "gpu-2", "gpu-3"] {
        nodes.push(stage.worker(name, 1, 4_000).await);
    }
    let job = stage.submit("m", "it kills").await;
    stage.pass(seconds(400)).await;
    let dead = buried(&mut graveyard).await;
    assert_eq!(dead.len(), 1, "{:?}", stage.gateway.answers(&job));
    assert_eq!(dead[0].class, Class::Poison);
    assert_eq!(dead[0].failure.kind, FailureKind::RuntimeDied);
    let killers = nodes
        .iter()
        .filter(|node| !node.runtime.bodies().is_empty());
    assert_eq!(killers.count(), 2);
    let healthy = stage.submit("m", "x").await;
    stage.pass(seconds(60)).await;
    assert!(stage.gateway.result(&healthy).is_some());
}

#[tokio::test]
async fn a_job_in_hand_as_two_workers_died_is_poison_and_never_reaches_a_third() {
    let mut stage = Stage::new();
    stage.deploy("m", |_| {});
    let mut graveyard = stage.graveyard().await;
    stage.submit("m", "x takes 600").await;
    for name in ["gpu-1", "gpu-2"] {
        let node = stage.worker(name, 1, 4_000).await;
        stage.pass(seconds(15)).await;
        assert_eq!(node.runtime.bodies().len(), 1, "{name}");
        drop(node);
        stage.gateway.state().dead.insert(name.into());
    }
    let third = stage.worker("gpu-3", 1, 4_000).await;
    stage.pass(seconds(15)).await;
    assert!(third.runtime.bodies().is_empty());
    let dead = buried(&mut graveyard).await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].class, Class::Poison);
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_fails_its_request_at_once() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.image = "broken".into());
    let mut graveyard = stage.graveyard().await;
    let node = stage.worker("gpu-1", 1, 4_000).await;
    let job = stage.submit("m", "x").await;
    stage.pass(seconds(5)).await;
    assert!(node.runtime.bodies().is_empty());
    assert!(matches!(
        &stage.gateway.answers(&job)[..],
        [Answer::Failure(_)]
    ));
    let dead = buried(&mut graveyard).await;
    assert_eq!(dead[0].class, Class::Deterministic);
    assert_eq!(dead[0].failure.kind, FailureKind::Incompatible);
}

#[tokio::test]
async fn a_model_that_is_put_right_is_not_avoided_for_what_it_was() {
    let mut stage = Stage::new();
    stage.deploy("m", |model| model.image = "broken".into());
    let _node = stage.worker("gpu-1", 1, 4_000).await;
    for after in [60, 60, 60, 5] {
        stage.submit("m", "x").await;
        stage.pass(seconds(after)).await;
    }
    let job = stage.submit("m", "y").await;
    stage.pass(seconds(5)).await;
    assert!(stage.gateway.answers(&job).is_empty(), "it is put off");
    stage.deploy("m", |model| model.generation = "2".into());
    stage.pass(seconds(8)).await;
    assert!(stage.gateway.result(&job).is_some());
}
