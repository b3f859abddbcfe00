//! Jobs of the shared fleet that failed for good: archived once, looked at,
//! and run once more where that may help.

mod archive;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_provider::fleet::Replayed;
use thermocline_provider::{ProviderError, ProviderErrorKind};
use thermocline_support::backend::{FakeBackend, Latch, Reply, Script};
use thermocline_support::fleet::Letter;
use thermocline_support::process::{self, Ran};
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{TOKEN, manual_clock};
use thermocline_wire::fleet::{Class, FailureKind};

use crate::scene::{SECOND, breathe};
use archive::{Archive, transient};

#[tokio::test]
async fn b31_a_job_that_fails_for_good_is_one_letter_with_payload_attempts_and_last_error() {
    let archive = Archive::new().await;
    archive.bury(transient("job1")).await;
    archive.bury(transient("job1")).await;
    let letters = archive.list("").await;
    assert_eq!(letters.len(), 1);
    let letter = archive.read("job1").await;
    assert_eq!(
        (&letter["state"], &letter["attempts"]),
        (&json!("open"), &json!(3))
    );
    assert_eq!(
        (&letter["kind"], &letter["detail"]),
        (&json!("timed_out"), &json!("no answer in 30 s"))
    );
    assert_eq!(letter["failures"].as_array().unwrap().len(), 1);
    assert_eq!(letter["failures"][0]["worker"], "w1");
    assert_eq!(letter["payload"]["content"], "the payload");
    let metrics = archive.system.admin.metrics().await;
    let counted = "thermocline_fleet_dead_letters_total{class=\"transient\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn what_lets_somebody_in_is_not_kept_and_what_was_left_out_is_told() {
    let archive = Archive::new().await;
    archive.bury(transient("job1")).await;
    let letter = archive.read("job1").await;
    assert!(!letter.to_string().contains("sentinel"), "{letter}");
    assert_eq!(letter["request"]["target"], "/v1/run?n=1");
    assert_eq!(
        letter["cut"],
        json!(["header authorization", "query token"])
    );
}

#[tokio::test]
async fn a_secret_in_the_path_is_hidden_and_replayed_as_it_was_sent() {
    let archive = Archive::new().await;
    let secret = json!({ "value": "hf_0123456789" });
    let put = archive
        .system
        .admin
        .call(Method::PUT, "/secrets/hf", Some(&secret));
    assert!(put.await.0.is_success());
    let mut letter = transient("job1");
    let request = letter.request.as_mut().unwrap();
    request.target = "/v1/hf_0123456789/run".to_owned();
    request.headers = vec![("x-note".to_owned(), "with hf_0123456789".to_owned())];
    let sent = request.clone();
    archive.bury(letter).await;
    let shown = archive.read("job1").await;
    assert!(!shown.to_string().contains("hf_0123456789"), "{shown}");
    assert_eq!(
        shown["request"],
        json!({ "method": "POST", "target": "/v1/[secret]/run",
                "headers": [["x-note", "with [secret]"]] })
    );
    archive.fleet.next_replay(Ok(Replayed::Answered(200)));
    archive.replay("job1").await;
    archive.until_state("job1", "replayed").await;
    assert_eq!(archive.fleet.replayed(), [sent]);
}

#[tokio::test]
async fn a_transient_letter_is_replayed_once_and_says_how_that_ended() {
    let archive = Archive::new().await;
    archive.bury(transient("job1")).await;
    archive.fleet.next_replay(Ok(Replayed::Answered(200)));
    let (status, letter) = archive.replay("job1").await;
    assert_eq!((status, &letter["replayable"]), (202, &json!(false)));
    let letter = archive.until_state("job1", "replayed").await;
    assert_eq!(letter["outcome"]["result"], "answered");
    assert_eq!(letter["outcome"]["status"], 200);
    let replayed = archive.fleet.replayed();
    assert_eq!(replayed.len(), 1);
    assert_eq!(
        (&*replayed[0].method, &*replayed[0].payload),
        ("POST", &b"the payload"[..])
    );
    let (status, problem) = archive.replay("job1").await;
    assert_eq!((status, &problem["code"]), (409, &json!("replayed")));
}

#[tokio::test]
async fn what_would_fail_again_is_not_replayed_and_the_reason_is_told() {
    let archive = Archive::new().await;
    for (id, class) in [("bad", Class::Deterministic), ("evil", Class::Poison)] {
        let kind = FailureKind::RuntimeFailed;
        archive
            .bury(Letter::new(id, class, kind, "CUDA error"))
            .await;
    }
    let uncovered = Letter {
        request: None,
        ..transient("gone")
    };
    archive.bury(uncovered).await;
    for (id, code) in [
        ("bad", "deterministic"),
        ("evil", "poison"),
        ("gone", "no_request"),
    ] {
        let (status, problem) = archive.replay(id).await;
        assert_eq!((status, &problem["code"]), (409, &json!(code)), "{problem}");
        assert_eq!(archive.read(id).await["not_replayable"], problem["detail"]);
        assert_eq!(archive.read(id).await["state"], "open");
    }
    let fingerprint = &archive.read("evil").await["fingerprint"];
    assert_eq!(archive.replay_group(fingerprint).await.0, 409);
    assert_eq!(archive.replay_group(&json!("0000")).await.0, 404);
    assert_eq!(archive.replay("nobody").await.0, 404);
    assert!(archive.fleet.replayed().is_empty());
}

#[tokio::test]
async fn a_group_is_replayed_one_after_the_other() {
    let archive = Archive::new().await;
    for id in ["a", "b", "c"] {
        archive.bury(transient(id)).await;
        archive.fleet.next_replay(Ok(Replayed::Answered(200)));
    }
    archive
        .bury(Letter::new(
            "d",
            Class::Poison,
            FailureKind::TimedOut,
            "no answer in 7 s",
        ))
        .await;
    let groups = archive.list("?group=fingerprint").await;
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!(
        (&groups[0]["letters"], &groups[0]["replayable"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(groups[0]["classes"], json!(["transient", "poison"]));
    let (status, begun) = archive.replay_group(&groups[0]["fingerprint"]).await;
    assert_eq!(status, 202, "{begun}");
    assert_eq!(
        (&begun["replaying"], &begun["left"]),
        (&json!(3), &json!(1))
    );
    for (count, id) in [(1, "a"), (2, "b"), (3, "c")] {
        archive.until_state(id, "replayed").await;
        assert_eq!(archive.fleet.replayed().len(), count);
        archive.time.advance(SECOND);
    }
    assert_eq!(archive.read("d").await["state"], "open");
}

#[tokio::test]
async fn a_replay_counts_against_the_concurrency_of_its_deployment() {
    let archive = Archive::new().await;
    let held = Latch::new();
    let backend = FakeBackend::start(Script::always(Reply::ok("done").held_until(&held))).await;
    let spec = json!({
        "name": "m", "tiers": { "dedicated": { "url": backend.url() } },
        "concurrency": { "max_concurrency": 1 },
    });
    archive.system.admin.deploy(spec).await;
    let mut client = archive.system.client().await;
    client.request("POST", "/d/m/run").start().await.unwrap();
    backend.wait_for(|seen| seen.count("/run") == 1).await;
    archive.bury(transient("job1")).await;
    archive.fleet.next_replay(Ok(Replayed::Answered(200)));
    assert_eq!(archive.replay("job1").await.0, 202);
    for _ in 0..50 {
        breathe(1).await;
    }
    assert!(archive.fleet.replayed().is_empty(), "its turn has not come");
    held.open();
    let replayed = async || {
        archive.time.advance(SECOND); // its turn is looked for each second
        archive.read("job1").await["state"] == "replayed"
    };
    archive.until(replayed).await;
    assert_eq!(archive.fleet.replayed().len(), 1);
}

#[tokio::test]
async fn what_a_budget_forbids_a_deployment_it_forbids_a_replay() {
    let cloud = FakeProvider::new(&manual_clock().clock(), |_| Script::from(Reply::ok("")));
    let archive = Archive::with(|setup| setup.provider("toy", cloud)).await;
    let spec = json!({
        "name": "m", "image": "i:1", "port": 80,
        "tiers": { "serverless": { "provider": "toy" } },
        "budget": { "usd_per_day": 0.0 },
    });
    archive.system.admin.deploy(spec).await;
    archive.bury(transient("job1")).await;
    let braked = async || {
        let (_, told) = archive
            .system
            .admin
            .call(Method::GET, "/deployments/m", None)
            .await;
        told["status"]["budget"]["serverless"]["brake"] == "stop"
    };
    archive.until(braked).await;
    assert_eq!(archive.replay("job1").await.0, 202);
    let letter = archive.until_state("job1", "open").await;
    assert_eq!(letter["outcome"]["result"], "refused", "{letter}");
    assert!(archive.fleet.replayed().is_empty());
}

#[tokio::test]
async fn a_replay_that_nobody_answers_leaves_the_letter_open() {
    let archive = Archive::new().await;
    archive.bury(transient("job1")).await;
    let away = ProviderError::new(
        ProviderErrorKind::Unavailable,
        "the queue cannot be reached",
    );
    for (end, result) in [(Ok(Replayed::Expired), "expired"), (Err(away), "refused")] {
        archive.fleet.next_replay(end);
        assert_eq!(archive.replay("job1").await.0, 202);
        let letter = archive.until_state("job1", "open").await;
        assert_eq!(letter["outcome"]["result"], result);
        archive.time.advance(SECOND);
    }
    archive
        .fleet
        .next_replay(Ok(Replayed::Failed(FailureKind::TimedOut)));
    assert_eq!(archive.replay("job1").await.0, 202);
    let letter = archive.until_state("job1", "replayed").await;
    assert_eq!(letter["outcome"]["kind"], "timed_out");
}

#[tokio::test]
async fn a_crash_loses_no_letter_and_opens_what_was_being_replayed() {
    let archive = Archive::new().await;
    archive.bury(transient("job1")).await;
    assert_eq!(archive.replay("job1").await.0, 202);
    archive
        .until(async || archive.fleet.replayed().len() == 1)
        .await;
    let archive = archive.crash().await;
    let letter = archive.read("job1").await;
    assert_eq!(
        (&letter["state"], &letter["replayable"]),
        (&json!("open"), &json!(true))
    );
    assert_eq!(letter["outcome"]["result"], "interrupted");
    archive.bury(transient("job2")).await;
    assert_eq!(archive.list("").await.len(), 2);
}

#[tokio::test]
async fn a_letter_is_discarded_with_its_payload_and_stays_to_be_counted() {
    let archive = Archive::new().await;
    archive.bury(transient("job1")).await;
    assert_eq!(archive.call(Method::DELETE, "/job1").await.0, 204);
    let discarded = archive.read("job1").await["changed_at"].clone();
    archive.time.advance(SECOND);
    assert_eq!(archive.call(Method::DELETE, "/job1").await.0, 204);
    assert_eq!(archive.read("job1").await["changed_at"], discarded);
    let events = run(&archive, &["events"]).await.out;
    assert_eq!(events.matches("fleet.discarded").count(), 1, "{events}");
    assert_eq!(archive.call(Method::DELETE, "/nobody").await.0, 404);
    let letter = archive.read("job1").await;
    assert_eq!(
        (&letter["state"], &letter["payload"]["kept"]),
        (&json!("discarded"), &json!(false))
    );
    assert_eq!(archive.replay("job1").await.1["code"], "discarded");
    assert!(archive.list("?state=open").await.is_empty());
    assert_eq!(archive.list("?state=discarded&deployment=m").await.len(), 1);
    assert!(archive.list("?deployment=other").await.is_empty());
}

#[tokio::test]
async fn what_the_archive_keeps_is_bounded() {
    let archive = Archive::with(|mut setup| {
        setup.dead_letters.max_payload = 5;
        setup.dead_letters.limits.letters = 2;
        setup
    });
    let archive = archive.await;
    for id in ["a", "b", "c"] {
        archive.bury(transient(id)).await;
    }
    let letter = archive.read("c").await;
    assert_eq!(
        (&letter["payload"]["bytes"], &letter["payload"]["kept"]),
        (&json!(11), &json!(false))
    );
    assert_eq!(archive.replay("c").await.1["code"], "no_payload");
    archive.time.advance(Duration::from_secs(60));
    archive
        .until(async || archive.list("").await.len() == 2)
        .await;
    assert_eq!(archive.list("").await[0]["id"], "c");
}

#[tokio::test]
async fn a_letter_whose_deployment_is_gone_stays_to_be_looked_at() {
    let archive = Archive::new().await;
    let mut orphan = transient("job1");
    orphan.request.as_mut().unwrap().deployment = "gone".to_owned();
    archive.bury(orphan).await;
    let (status, problem) = archive.replay("job1").await;
    assert_eq!((status, &problem["code"]), (409, &json!("no_deployment")));
    assert_eq!(archive.read("job1").await["deployment"], "gone");
}

/// The verbs, against this archive.
async fn dlq(archive: &Archive, args: &[&str]) -> Ran {
    run(archive, &[&["dlq"], args].concat()).await
}

async fn run(archive: &Archive, args: &[&str]) -> Ran {
    let url = format!("http://{}", archive.system.admin.address);
    let setup = process::Setup::new()
        .env("THERMOCLINE_SERVER", &url)
        .env("THERMOCLINE_TOKEN", TOKEN);
    setup.run(args).await
}

#[tokio::test]
async fn letters_are_looked_at_replayed_and_discarded_at_the_command_line() {
    let archive = Archive::new().await;
    assert_eq!(dlq(&archive, &["ls"]).await.out, "");
    archive.bury(transient("job1")).await;
    archive
        .bury(Letter::new(
            "job2",
            Class::Poison,
            FailureKind::RuntimeDied,
            "exit\u{1b}[2J 139",
        ))
        .await;

    let listed = dlq(&archive, &["ls"]).await;
    assert_eq!(listed.code, 0, "{}", listed.err);
    assert!(
        listed.out.contains("job1") && listed.out.contains("poison"),
        "{}",
        listed.out
    );
    assert!(!listed.out.contains('\u{1b}'));
    let poison = dlq(&archive, &["ls", "--class", "poison", "-o", "json"]).await;
    let poison: Value = serde_json::from_str(&poison.out).unwrap();
    assert_eq!(poison["items"].as_array().unwrap().len(), 1);
    let groups = dlq(&archive, &["ls", "--groups"]).await.out;
    assert_eq!(groups.lines().count(), 3, "{groups}");

    let shown = dlq(&archive, &["show", "job1"]).await.out;
    for word in [
        "the payload",
        "no answer in 30 s",
        "header authorization",
        "POST /v1/run?n=1",
    ] {
        assert!(shown.contains(word), "{word} is missing in\n{shown}");
    }
    assert_eq!(dlq(&archive, &["show", "nobody"]).await.code, 4);
    assert_eq!(dlq(&archive, &["show", "../keys"]).await.code, 2);

    let nothing = dlq(&archive, &["replay"]).await;
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("--fingerprint"), "{}", nothing.err);
    let refused = dlq(&archive, &["replay", "job2"]).await;
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("two workers"), "{}", refused.err);
    archive.fleet.next_replay(Ok(Replayed::Answered(200)));
    let replayed = dlq(&archive, &["replay", "job1"]).await;
    assert_eq!((replayed.code, &*replayed.out), (0, "job1: answered 200\n"));
    assert_eq!(dlq(&archive, &["replay", "nobody"]).await.code, 4);

    let discarded = dlq(&archive, &["discard", "job1", "job2"]).await;
    assert_eq!(discarded.code, 0, "{}", discarded.err);
    assert_eq!(dlq(&archive, &["ls"]).await.out, "");
    let all = dlq(&archive, &["ls", "--state", "all"]).await.out;
    assert_eq!(all.lines().count(), 3, "{all}");
}
