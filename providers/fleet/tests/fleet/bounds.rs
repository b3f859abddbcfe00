//! What may be parked, and that everything comes back to zero.

use std::time::Duration;

use futures_util::future::join_all;
use thermocline_fleet::Settings;
use thermocline_policy::Moment;
use thermocline_provider::fleet::FleetResult;
use thermocline_wire::fleet::FailureKind;

use crate::scene::{Scene, settings, still};
use thermocline_clock::Clock;

#[tokio::test]
async fn a_body_that_says_that_it_is_too_large_is_not_read() {
    let scene = Scene::with(
        Settings {
            max_payload: 10,
            ..settings()
        },
        Clock::system(),
    )
    .await;
    // The body never comes: only its length has been said.
    let never = futures_util::stream::pending::<std::io::Result<Vec<u8>>>();
    let request = scene.post("/").header("content-length", "11");
    let response = request
        .body(reqwest::Body::wrap_stream(never))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 413);
    scene.at_rest().await;
    assert_eq!(scene.tally().published, 0);
}

#[tokio::test]
async fn a_body_that_grows_too_large_is_refused_on_the_way() {
    let scene = Scene::with(
        Settings {
            max_payload: 10,
            ..settings()
        },
        Clock::system(),
    )
    .await;
    let pieces = futures_util::stream::iter(["123456"; 2].map(Ok::<_, std::io::Error>));
    let request = scene.post("/").body(reqwest::Body::wrap_stream(pieces));
    assert_eq!(request.send().await.unwrap().status(), 413);
    let exact = scene.ask("1234567890");
    scene.until(|tally| tally.held_bytes == 10).await;
    exact.leave();
    scene.at_rest().await;
}

#[tokio::test]
async fn b29_as_many_are_parked_as_may_be_and_the_rest_refused_at_once() {
    let most = Settings {
        max_parked: 3,
        ..settings()
    };
    let scene = Scene::with(most, Clock::system()).await;
    for _ in 0..5 {
        let requests: Vec<_> = (0..10).map(|_| scene.post("/").body("x").send()).collect();
        let refused = scene.ended(FleetResult::Refused);
        let rounds = tokio::spawn(join_all(requests));
        scene
            .until(|tally| tally.parked == 3 && tally.of(FleetResult::Refused) == refused + 7)
            .await;
        let worker = scene.worker("w");
        for _ in 0..3 {
            let (held, granted) = worker.begin().await;
            worker
                .answer(&held.job, &granted.grant.run, "y")
                .await
                .unwrap();
            held.delivery.ack().await.unwrap();
        }
        let statuses = rounds.await.unwrap().into_iter().map(|response| {
            let response = response.unwrap();
            let again = response.headers().contains_key("retry-after");
            assert_eq!(again, response.status() == 429);
            response.status().as_u16()
        });
        let mut statuses: Vec<u16> = statuses.collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![200; 3], vec![429; 7]].concat());
        scene.at_rest().await;
    }
}

#[tokio::test]
async fn bytes_are_bounded_over_all_requests() {
    let most = Settings {
        max_parked_bytes: 10,
        ..settings()
    };
    let scene = Scene::with(most, Clock::system()).await;
    let first = scene.ask("12345678");
    scene.until(|tally| tally.parked == 1).await;
    assert_eq!(scene.ask("123").status().await, 429);
    first.leave();
    scene.at_rest().await;
    let again = scene.ask("123");
    scene.until(|tally| tally.parked == 1).await;
    again.leave();
}

#[tokio::test]
async fn b30_counters_come_back_to_zero_whatever_became_of_the_requests() {
    let scene = Scene::new().await;
    let worker = scene.worker("w");
    for round in 0..20 {
        let asked = scene.ask("prompt");
        if round % 5 == 0 {
            scene.until(|tally| tally.parked == 1).await;
            asked.leave();
            scene.until(|tally| tally.parked == 0).await;
            continue;
        }
        let (held, granted) = loop {
            let held = worker.take().await;
            match worker.claim(&held).await {
                Ok(granted) => break (held, granted),
                Err(_) => held.delivery.ack().await.unwrap(),
            }
        };
        let run = granted.grant.run.clone();
        match round % 5 {
            1 => worker.answer(&held.job, &run, "y").await.unwrap(),
            2 => worker
                .fail(&held.job, &run, FailureKind::RuntimeFailed, true)
                .await
                .unwrap(),
            3 => worker
                .fail(&held.job, &run, FailureKind::RuntimeFailed, false)
                .await
                .unwrap(),
            _ => {}
        }
        held.delivery.ack().await.unwrap();
        asked.leave();
        scene
            .until(|tally| (tally.parked, tally.running) == (0, 0))
            .await;
    }
    let tally = scene.tally();
    let ended = tally.of(FleetResult::Answered)
        + tally.of(FleetResult::Failed)
        + tally.of(FleetResult::ClientLeft);
    assert_eq!(ended, tally.published);
}

#[tokio::test]
async fn ten_thousand_expired_jobs_are_refused_one_by_one_and_none_is_run() {
    let time = still();
    let scene = Scene::with(settings(), time.clock()).await;
    const JOBS: u64 = 10_000;
    let (mut parked, mut statuses) = (0, Vec::new());
    while parked < JOBS {
        // In portions, for the sake of open files.
        let portion: Vec<_> = (0..200)
            .map(|_| scene.ask_within("x", Duration::from_secs(1)))
            .collect();
        parked += 200;
        scene.until(|tally| tally.published == parked).await;
        time.advance(Duration::from_secs(2));
        let ended = join_all(portion.into_iter().map(crate::scene::Asked::status)).await;
        statuses.extend(ended);
    }
    assert!(statuses.iter().all(|status| *status == 504));
    let worker = scene.worker("w");
    for _ in 0..JOBS {
        let held = worker.take().await;
        assert_eq!(worker.claim(&held).await.err().unwrap(), "expired");
        held.delivery.ack().await.unwrap();
    }
    let tally = scene.tally();
    assert_eq!(
        (tally.of(FleetResult::Expired), tally.granted, tally.parked),
        (JOBS, 0, 0)
    );
    assert!(time.now() > Moment::ORIGIN);
}
