use std::time::{Duration, SystemTime};

use thermocline_clock::ManualClock;

use super::*;

async fn statuses(client: &mut RawClient, requests: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..requests {
        statuses.push(get(client, "/ready").await.status);
    }
    statuses
}

#[tokio::test]
async fn replies_come_in_turn_and_the_last_stays() {
    let script = Script::in_turn([200, 503, 200].map(Reply::new));
    let (_backend, mut client) = started(script).await;
    assert_eq!(statuses(&mut client, 5).await, [200, 503, 200, 200, 200]);
}

#[tokio::test]
async fn readiness_is_released_by_the_test() {
    let loaded = Latch::new();
    let ready = Script::until(&loaded, Reply::new(503), Reply::new(200));
    let script = Script::always(Reply::new(400)).on("/ready", ready);
    let (backend, mut client) = started(script).await;
    assert_eq!(statuses(&mut client, 2).await, [503, 503]);
    loaded.open();
    assert_eq!(statuses(&mut client, 1).await, [200]);
    assert_eq!(get(&mut client, "/infer").await.status, 400);
    assert_eq!(backend.seen().count("/ready"), 3);
}

#[tokio::test]
async fn a_timeline_follows_its_clock() {
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let at = Duration::from_secs;
    let steps = [
        (at(1), Reply::new(200)),
        (at(2), Reply::new(503)),
        (at(4), Reply::new(200)),
    ];
    let (_backend, mut client) = started(Script::timeline(&manual.clock(), steps)).await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(get(&mut client, "/").await.status);
        manual.advance(at(1));
    }
    assert_eq!(statuses, [503, 200, 503, 503, 200]);
}

#[tokio::test]
async fn a_foreign_origin_is_forbidden() {
    let (_backend, mut client) = started(Script::always(Reply::new(200)).same_origin()).await;
    let mut status = async |origin: Option<&'static str>| {
        let mut request = client.request("GET", "/").header("host", "gw.example:8443");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send().await.unwrap().status
    };
    assert_eq!(status(Some("https://gw.example:8443")).await, 200);
    assert_eq!(status(Some("https://gw.example")).await, 403);
    assert_eq!(status(None).await, 200);
}

#[tokio::test]
async fn the_go_ahead_is_given_once_or_never() {
    let script = Script::always(Reply::ok("")).on("/never", Reply::ok("").without_continue());
    for (path, interim) in [("/", 1), ("/never", 0)] {
        let (backend, mut client) = started(script.clone()).await;
        let post = client
            .request("POST", path)
            .header("expect", "100-continue");
        let response = post.body("abc").send().await.unwrap();
        assert_eq!((response.status, response.interim.len()), (200, interim));
        let seen = backend.seen();
        assert_eq!(seen.requests[0].continued.is_some(), interim == 1);
        assert_eq!(seen.requests[0].body_bytes, 3);
    }
}
