//! Dead letters, and what is run once more.

use std::time::Duration;

use futures_util::StreamExt;
use thermocline_provider::fleet::{Cause, ParkedRequest, Replayed, SharedFleet};
use thermocline_wire::fleet::FailureKind;

use crate::scene::{Scene, settings, still};

#[tokio::test]
async fn a_dead_letter_comes_with_its_payload_until_it_is_archived() {
    let scene = Scene::new().await;
    let mut letters = scene.fleet.dead_letters().await.unwrap();
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let (run, kind) = (granted.grant.run.clone(), FailureKind::RuntimeFailed);
    worker.fail(&held.job, &run, kind, true).await.unwrap();
    assert_eq!(asked.status().await, 502);
    assert_eq!(
        scene.tally().held_bytes,
        6,
        "somebody will want to look at it"
    );
    let body = held.delivery.body().clone();
    held.delivery.bury(body, "report".into()).await.unwrap();
    let letter = letters.next().await.unwrap();
    assert_eq!(
        (letter.job.id.as_str(), letter.attempts),
        (held.job.id.as_str(), 1)
    );
    assert_eq!(letter.cause, Cause::GivenUp("report".into()));
    assert_eq!(letter.failures[0].kind, kind);
    let request = letter.request.clone().unwrap();
    assert_eq!(
        (&request.payload[..], request.target.as_str()),
        (&b"prompt"[..], "/generate?n=1")
    );
    letter.archived().await;
    scene.at_rest().await;
}

#[tokio::test]
async fn a_dead_letter_that_nobody_archives_lets_its_payload_go() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let run = granted.grant.run.clone();
    worker
        .fail(&held.job, &run, FailureKind::RuntimeFailed, true)
        .await
        .unwrap();
    assert_eq!(asked.status().await, 502);
    drop(granted);
    time.advance(Duration::from_secs(61));
    scene.at_rest().await;
}

fn request() -> ParkedRequest {
    ParkedRequest {
        deployment: "m".to_owned(),
        method: "POST".to_owned(),
        target: "/generate".to_owned(),
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        payload: "prompt".into(),
    }
}

#[tokio::test]
async fn what_is_replayed_is_run_like_any_other_and_its_end_is_told() {
    let scene = Scene::new().await;
    let minute = Duration::from_secs(60);
    let worker = scene.worker("w");
    let (replayed, ()) = tokio::join!(scene.fleet.replay(request(), minute), async {
        let (held, granted) = worker.begin().await;
        assert_eq!(&granted.payload[..], b"prompt");
        worker
            .answer(&held.job, &granted.grant.run, "y")
            .await
            .unwrap();
        held.delivery.ack().await.unwrap();
    });
    assert_eq!(replayed.unwrap(), Replayed::Answered(200));
    let (replayed, ()) = tokio::join!(scene.fleet.replay(request(), minute), async {
        let (held, granted) = worker.begin().await;
        let run = granted.grant.run.clone();
        worker
            .fail(&held.job, &run, FailureKind::TimedOut, true)
            .await
            .unwrap();
    });
    assert_eq!(replayed.unwrap(), Replayed::Failed(FailureKind::TimedOut));
}
