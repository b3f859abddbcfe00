//! Dead letters, and what is run once more.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use thermocline_broker::Broker;
use thermocline_provider::fleet::{Cause, ParkedRequest, Replayed, SharedFleet};
use thermocline_wire::fleet::{Ending, FailureKind};

use crate::scene::{Asked, Scene, settings, still};

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

#[tokio::test]
async fn what_lets_a_client_in_is_cut_from_all_that_is_said_of_a_failure() {
    let scene = Scene::new().await;
    let mut letters = scene.fleet.dead_letters().await.unwrap();
    let request = scene.post("/generate?api_key=SentinelQuery").body("prompt");
    let request = request.bearer_auth("SentinelToken");
    let asked = Asked::send(request.header("cookie", "sid=SentinelCookie; lang=en"));
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let failure = json!({ "run": granted.grant.run, "worker": "w", "kind": "runtime_failed",
        "detail": "for en: SentinelToken, SentinelCookie, SentinelQuery", "final": true });
    let told = worker.call(&held.job.id, "failure").json(&failure).send();
    assert!(told.await.unwrap().status().is_success());
    let answered = asked.response().await.text().await.unwrap();
    let mut body = json!(held.job);
    body["failures"] = json!([failure]);
    let report = json!({ "class": "transient", "failure": failure });
    let (body, report) = (body.to_string(), report.to_string());
    let buried = held.delivery.bury(body.into(), report.into());
    buried.await.unwrap();
    let letter = letters.next().await.unwrap();
    let Cause::GivenUp(report) = &letter.cause else {
        panic!("{:?}", letter.cause)
    };
    let written = String::from_utf8_lossy(report).into_owned();
    let told = [&letter.failures, &letter.job.failures].map(|it| json!(it).to_string());
    for said in told.into_iter().chain([written]) {
        let clean = "for en: [secret], [secret], [secret]";
        assert!(said.contains(clean) && !said.contains("Sentinel"), "{said}");
    }
    assert!(!answered.contains("Sentinel"), "{answered}");
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
    let gone = ParkedRequest {
        deployment: "gone".to_owned(),
        ..request()
    };
    let replayed = scene.fleet.replay(gone, minute).await;
    assert_eq!(
        replayed.unwrap(),
        Replayed::Withdrawn,
        "nobody would ever take it"
    );
}

#[tokio::test]
async fn a_job_that_is_buried_before_it_is_told_keeps_its_payload_and_ends_its_client() {
    let scene = Scene::new().await;
    let mut letters = scene.fleet.dead_letters().await.unwrap();
    let asked = scene.ask("prompt");
    let worker = scene.worker("w");
    let (held, granted) = worker.begin().await;
    let report = json!({ "class": "deterministic", "failure": {
        "worker": "w", "kind": "incompatible", "detail": "no such layer", "final": true,
    } });
    let body = held.delivery.body().clone();
    let report = report.to_string().into();
    held.delivery.bury(body, report).await.unwrap();
    let letter = letters.next().await.unwrap();
    assert_eq!(&letter.request.as_ref().unwrap().payload[..], b"prompt");
    assert_eq!(letter.failures[0].detail, "no such layer");
    assert_eq!(asked.status().await, 502);
    assert_eq!(granted.ending().await, Ending::Settled);
    letter.archived().await;
    scene.at_rest().await;
}

#[tokio::test]
async fn a_letter_that_is_no_job_is_still_one_for_people_to_see() {
    let scene = Scene::new().await;
    let mut letters = scene.fleet.dead_letters().await.unwrap();
    scene.broker.publish("m", "no job".into()).await.unwrap();
    let delivery = scene.broker.take("m").await.unwrap().unwrap();
    delivery
        .bury("no job".into(), "report".into())
        .await
        .unwrap();
    let letter = letters.next().await.unwrap();
    assert_eq!(
        (letter.job.deployment.as_str(), letter.job.id.len()),
        ("m", 26)
    );
    assert!(letter.request.is_none());
}
