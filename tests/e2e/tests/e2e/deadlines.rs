//! One absolute deadline from arrival, and the shorter patience within it.

use serde_json::{Value, json};
use thermocline_clock::ManualClock;
use thermocline_support::backend::{Gate, Latch, Reply, Script};
use thermocline_support::client::{Ended, Response};
use thermocline_support::provider::Boot;
use thermocline_support::system::manual_clock;
use tokio::task::JoinHandle;

use crate::dedicated::{Dedicated, exclusive};
use crate::scene::{SECOND, Scene, pod, secs};

const ALMOST: std::time::Duration = std::time::Duration::from_millis(900);

/// A GET that goes on while the test does other things.
async fn send(
    m: &Dedicated,
    path: &str,
    header: (&'static str, &'static str),
) -> JoinHandle<Response> {
    let mut client = m.client().await;
    let path = path.to_owned();
    tokio::spawn(async move {
        let request = client.request("GET", &path).header(header.0, header.1);
        request.send().await.unwrap()
    })
}

/// It has no answer `seconds` less a moment from now, and then it has.
async fn ends_after(
    m: &Dedicated,
    time: &ManualClock,
    seconds: u64,
    request: JoinHandle<Response>,
) -> Response {
    time.advance(secs(seconds - 1) + ALMOST);
    for _ in 0..5 {
        m.system.admin.metrics().await;
    }
    assert!(!request.is_finished(), "too early");
    time.advance(SECOND - ALMOST);
    request.await.unwrap()
}

fn code(response: &Response) -> Value {
    serde_json::from_slice::<Value>(&response.body).unwrap()["code"].clone()
}

#[tokio::test]
async fn b13_who_waits_in_turn_expires_on_time() {
    let time = manual_clock();
    let latch = Latch::new();
    let m = Dedicated::on(&time, Reply::ok("A").held_until(&latch), exclusive(32)).await;
    let a = send(&m, "/d/m/a", ("x-a", "1")).await;
    m.backend.wait_for(|seen| seen.in_flight == 1).await;
    time.advance(secs(1));
    let b = send(&m, "/d/m/b", ("x-thermocline-timeout", "10s")).await;
    m.holds(1, 1).await;
    let b = ends_after(&m, &time, 10, b).await;
    assert_eq!((b.status, code(&b)), (504, json!("deadline")));
    time.advance(secs(48));
    latch.open();
    assert_eq!(a.await.unwrap().text(), "A");
    m.rests().await;
    assert_eq!(m.backend.seen().count("/b"), 0);
    assert_eq!(
        (
            m.outcomes("timeout").await,
            m.outcomes("backend_broke").await
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn b14_a_stream_that_has_begun_has_met_its_first_byte() {
    let time = manual_clock();
    let (latch, gate) = (Latch::new(), Gate::new());
    let limits = json!({ "limits": { "first_byte": "5s", "idle": "60s" } });
    let m = Dedicated::on(
        &time,
        Reply::new(200).held_until(&latch).gated(&gate),
        limits,
    )
    .await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    m.backend.wait_for(|seen| seen.in_flight == 1).await;
    time.advance(secs(2));
    latch.open();
    assert_eq!(client.read_head().await.unwrap().status, 200);
    for _ in 0..5 {
        time.advance(secs(6));
        gate.write("data: x\n\n");
        assert_eq!(
            client.read_chunk().await.unwrap().unwrap().bytes,
            "data: x\n\n"
        );
    }
    gate.finish();
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Clean);
}

#[tokio::test]
async fn b14_no_head_is_504_when_the_first_byte_is_due() {
    let time = manual_clock();
    let latch = Latch::new();
    let limits = json!({ "limits": { "first_byte": "5s", "idle": "60s" } });
    let m = Dedicated::on(&time, Reply::ok("").held_until(&latch), limits).await;
    let request = send(&m, "/d/m/x", ("x-a", "1")).await;
    m.backend.wait_for(|seen| seen.in_flight == 1).await;
    let response = ends_after(&m, &time, 5, request).await;
    assert_eq!(response.status, 504);
    m.backend
        .wait_for(|seen| seen.requests[0].peer_left())
        .await;
    m.rests().await;
    assert_eq!(m.outcomes("timeout").await, 1);
}

#[tokio::test]
async fn the_client_may_shorten_the_deadline_but_not_lengthen_it() {
    let time = manual_clock();
    let latch = Latch::new();
    let limits = json!({ "limits": { "deadline": "30s" } });
    let m = Dedicated::on(&time, Reply::ok("").held_until(&latch), limits).await;
    for (asked, seconds) in [("10s", 10), ("2h", 30), ("7", 7)] {
        let request = send(&m, "/d/m/x", ("x-thermocline-timeout", asked)).await;
        m.backend.wait_for(|seen| seen.in_flight == 1).await;
        let response = ends_after(&m, &time, seconds, request).await;
        assert_eq!(
            (response.status, code(&response)),
            (504, json!("deadline")),
            "{asked}"
        );
        m.backend.wait_for(|seen| seen.in_flight == 0).await;
    }
    let nonsense = send(&m, "/d/m/x", ("x-thermocline-timeout", "soon")).await;
    assert_eq!(nonsense.await.unwrap().status, 400);
}

#[tokio::test]
async fn the_deadline_breaks_a_response_off() {
    let time = manual_clock();
    let gate = Gate::new();
    let limits = json!({ "limits": { "deadline": "30s", "idle": "60s" } });
    let m = Dedicated::on(&time, Reply::new(200).gated(&gate), limits).await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    client.read_head().await.unwrap();
    time.advance(secs(29));
    gate.write("still");
    assert_eq!(client.read_chunk().await.unwrap().unwrap().bytes, "still");
    time.advance(secs(1));
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Aborted);
    m.backend.wait_for(|seen| seen.in_flight == 0).await;
    m.rests().await;
    assert_eq!(m.outcomes("timeout").await, 1);
}

#[tokio::test]
async fn a_stream_without_a_byte_for_too_long_breaks_off() {
    let time = manual_clock();
    let gate = Gate::new();
    let m = Dedicated::on(
        &time,
        Reply::new(200).gated(&gate),
        json!({ "limits": { "idle": "60s" } }),
    )
    .await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    client.read_head().await.unwrap();
    for _ in 0..3 {
        time.advance(secs(59));
        gate.write("x");
        assert_eq!(client.read_chunk().await.unwrap().unwrap().bytes, "x");
    }
    time.advance(secs(60));
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Aborted);
    m.rests().await;
    assert_eq!(m.outcomes("timeout").await, 1);
}

/// A backend that never stops sending is broken off too.
#[tokio::test]
async fn the_deadline_holds_for_bodies_that_never_pause() {
    let time = manual_clock();
    let limits = json!({ "limits": { "deadline": "30s" } });
    let m = Dedicated::on(&time, Reply::ok(vec![0; 64 << 20]), limits).await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    client.read_head().await.unwrap();
    time.advance(secs(30));
    let body = client.read_body().await.unwrap();
    assert_eq!(body.ended, Ended::Aborted);
    m.rests().await;
}

async fn cold(header: (&'static str, &'static str)) -> (std::time::Duration, Response) {
    let scene = Scene::new(Script::always(Reply::ok("hi"))).await;
    scene.cloud.set_boot(Boot::Never);
    scene.deploy(pod("10m"), json!({})).await;
    let mut client = scene.system.client().await;
    let request = tokio::spawn(async move {
        let request = client.request("GET", "/d/m/x").header(header.0, header.1);
        request.send().await.unwrap()
    });
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    let response = scene.answered(SECOND / 2, request).await;
    (scene.elapsed(), response)
}

#[tokio::test]
async fn the_cold_part_has_a_patience_of_its_own() {
    for (header, seconds, status) in [
        (("x-scale-up-timeout", "20s"), 20, 503),
        (("prefer", "respond-async, wait=15"), 15, 503),
        (("x-thermocline-timeout", "10s"), 10, 504),
        (("x-a", "the default"), 120, 503),
    ] {
        let (took, response) = cold(header).await;
        assert_eq!(response.status, status, "{header:?}");
        let late = took.abs_diff(secs(seconds));
        assert!(late <= SECOND, "{header:?} took {took:?}");
        if status == 503 {
            assert!(response.header("retry-after").is_some());
        }
    }
}
