use std::time::Duration;

use thermocline_clock::{Clock, ManualClock};

use super::*;

#[tokio::test]
async fn a_request_is_recorded_as_it_was_sent() {
    let (backend, mut client) = started(Reply::ok("hi")).await;
    let request = client
        .request("POST", "/a?b=1")
        .header("X-Request-Id", "r1")
        .header("x-Odd", &b"\xfe"[..])
        .pattern(200_000, false);
    let response = request.send().await.unwrap();
    assert_eq!((response.status, response.text()), (200, "hi".to_owned()));
    let seen = backend.seen();
    let record = &seen.requests[0];
    assert_eq!((record.method(), record.path()), ("POST", "/a"));
    assert_eq!(record.header("x-request-id"), Some("r1"));
    let last = record.request.headers().iter().last();
    assert_eq!(last, Some((&b"x-Odd"[..], &b"\xfe"[..])));
    assert_eq!(record.body_bytes, 200_000);
    assert_eq!(record.body_sha256, Some(pattern_sha256(200_000)));
    assert!(record.body_began.unwrap() >= record.arrived);
}

#[tokio::test]
async fn a_chunked_upload_has_the_same_hash_and_its_trailers() {
    let (backend, mut client) = started(Reply::ok("")).await;
    let upload = client.request("POST", "/").pattern(100_000, true);
    upload.trailer("x-sum", "9").send().await.unwrap();
    let seen = backend.seen();
    assert_eq!(seen.requests[0].body_sha256, Some(pattern_sha256(100_000)));
    assert_eq!(seen.requests[0].trailers.get("x-sum"), Some("9"));
}

#[tokio::test]
async fn a_gate_lets_each_chunk_through_by_hand() {
    let gate = Gate::new();
    let (backend, mut client) = started(Reply::new(200).gated(&gate)).await;
    client.request("GET", "/").start().await.unwrap();
    assert_eq!(client.read_head().await.unwrap().status, 200);
    for piece in ["one", "two"] {
        gate.write(piece);
        let chunk = client.read_chunk().await.unwrap().unwrap();
        assert_eq!(chunk.bytes, piece);
    }
    let seen = backend.wait_for(|s| s.requests[0].written.len() == 2).await;
    assert!(seen.requests[0].is_running());
    gate.finish();
    assert_eq!(client.read_chunk().await.unwrap(), None);
    backend
        .wait_for(|s| s.requests[0].outcome == Outcome::Complete)
        .await;
}

#[tokio::test]
async fn each_framing_ends_its_own_way() {
    let script = Script::always(Reply::ok("whole"))
        .on("/chunked", Reply::ok("whole").chunked().trailer("x-t", "1"))
        .on("/close", Reply::ok("whole").until_close());
    let (_backend, mut client) = started(script).await;
    let length = get(&mut client, "/").await;
    assert_eq!(length.header("content-length"), Some("5"));
    let chunked = get(&mut client, "/chunked").await;
    assert_eq!(chunked.header("transfer-encoding"), Some("chunked"));
    assert_eq!(chunked.trailers.get("x-t"), Some("1"));
    let closed = get(&mut client, "/close").await;
    for response in [length, chunked, closed] {
        assert_eq!(
            (response.text(), response.ended),
            ("whole".into(), Ended::Clean)
        );
    }
}

#[tokio::test]
async fn some_responses_have_a_head_only() {
    let script = Script::always(Reply::ok("body"))
        .on("/204", Reply::new(204))
        .on("/304", Reply::new(304).header("etag", "x"));
    let (_backend, mut client) = started(script).await;
    let head = client.request("HEAD", "/").send().await.unwrap();
    assert_eq!(head.header("content-length"), Some("4"));
    assert!(head.body.is_empty());
    assert!(
        !get(&mut client, "/204")
            .await
            .headers
            .contains("content-length")
    );
    assert_eq!(get(&mut client, "/304").await.header("etag"), Some("x"));
    assert_eq!(get(&mut client, "/").await.text(), "body");
}

#[tokio::test]
async fn an_echo_streams_both_ways() {
    let (_backend, mut client) = started(Reply::echo()).await;
    let head = client
        .request("POST", "/")
        .header("transfer-encoding", "chunked");
    head.send_head().await.unwrap();
    client.read_head().await.unwrap();
    for piece in ["first", "second"] {
        client.halves().0.send_chunk(piece).await.unwrap();
        assert_eq!(client.read_chunk().await.unwrap().unwrap().bytes, piece);
    }
    client.halves().0.finish_chunks().await.unwrap();
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Clean);
}

#[tokio::test]
async fn delays_run_on_the_clock_that_was_given() {
    let manual = ManualClock::starting_at(std::time::SystemTime::UNIX_EPOCH);
    let reply = Reply::new(200)
        .first_byte_delay(Duration::from_secs(600))
        .items(["tick"], Duration::from_secs(600));
    let backend = FakeBackend::start_on(&manual.clock(), reply).await;
    let mut client = RawClient::connect(backend.address()).await.unwrap();
    client.request("GET", "/").start().await.unwrap();
    backend.wait_for(|s| s.in_flight == 1).await;
    assert!(backend.seen().requests[0].head_sent.is_none());
    manual.advance(Duration::from_secs(600));
    client.read_head().await.unwrap();
    manual.advance(Duration::from_secs(600));
    assert_eq!(client.read_body().await.unwrap().bytes, "tick");
}

#[tokio::test]
async fn a_slow_reader_takes_its_time() {
    let clock = Clock::system();
    let began = clock.now();
    let slow = Reply::ok("").reading(Reading::Slowly(1 << 20));
    let (backend, mut client) = started(slow).await;
    let upload = client.request("POST", "/").pattern(128 << 10, false);
    upload.send().await.unwrap();
    assert!(clock.now().since(began) >= Duration::from_millis(120));
    assert_eq!(backend.seen().requests[0].body_bytes, 128 << 10);
}

#[tokio::test]
async fn reading_waits_until_it_is_released() {
    let latch = Latch::new();
    let (backend, mut client) = started(Reply::ok("").reading(Reading::After(latch.clone()))).await;
    client
        .request("POST", "/")
        .body("abc")
        .start()
        .await
        .unwrap();
    let seen = backend.wait_for(|s| s.requests.len() == 1).await;
    assert_eq!(seen.requests[0].body_bytes, 0);
    latch.open();
    assert_eq!(client.read_head().await.unwrap().status, 200);
    assert_eq!(backend.seen().requests[0].body_bytes, 3);
}
