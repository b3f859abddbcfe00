//! Bodies on their way back: as they come, whole, or visibly broken.

use serde_json::json;
use thermocline_support::backend::{Cut, Gate, Latch, Reading, Reply, Script};
use thermocline_support::client::{Ended, RawClient};
use thermocline_support::system::manual_clock;

use crate::dedicated::{Dedicated, h2_get};
use crate::scene::secs;

/// What the client asks for is the type that it gets, through `gate`.
fn as_asked(gate: &Gate) -> Script {
    let gate = gate.clone();
    Script::from_fn(move |request| {
        let kind = request.header("accept").unwrap_or("text/plain").to_owned();
        Reply::new(200).header("content-type", kind).gated(&gate)
    })
}

async fn read(client: &mut RawClient, bytes: usize) -> Vec<u8> {
    let mut got = Vec::new();
    while got.len() < bytes {
        got.extend(
            client
                .read_chunk()
                .await
                .unwrap()
                .expect("more of it")
                .bytes,
        );
    }
    got
}

/// No item is written before the one before has arrived, so none may be kept.
#[tokio::test]
async fn b10_small_events_are_not_kept() {
    let gate = Gate::new();
    let m = Dedicated::new(as_asked(&gate)).await;
    let mut client = m.client().await;
    for kind in [
        "text/event-stream",
        "text/event-stream; charset=utf-8",
        "application/x-ndjson",
        "application/octet-stream",
    ] {
        let request = client.request("GET", "/d/m/x").header("accept", kind);
        request.start().await.unwrap();
        let head = client.read_head().await.unwrap();
        assert_eq!(head.headers.get("content-type"), Some(kind));
        assert!(!head.headers.contains("content-length"), "{kind}");
        for number in 0..20 {
            let item = format!("data: {number:022}\n\n");
            assert_eq!(item.len(), 30);
            gate.write(item.clone());
            assert_eq!(read(&mut client, 30).await, item.as_bytes(), "{kind}");
        }
        gate.finish();
        assert_eq!(client.read_body().await.unwrap().ended, Ended::Clean);
    }
}

#[tokio::test]
async fn b12_a_stream_that_is_cut_off_never_ends_cleanly() {
    let gate = Gate::new();
    let m = Dedicated::new(as_asked(&gate)).await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    for event in 0..3 {
        gate.write(format!("data: {event}\n\n"));
    }
    client.read_head().await.unwrap();
    read(&mut client, 27).await;
    gate.abort();
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Aborted);
    m.rests().await;
    assert_eq!(m.outcomes("upstream_aborted").await, 1);
    assert_eq!(m.backend.seen().requests.len(), 1, "never a retry");
}

#[tokio::test]
async fn b12_a_declared_length_that_is_not_reached_breaks_off() {
    for how in [Cut::Close, Cut::Reset] {
        let gate = Gate::new();
        let m = Dedicated::new(Reply::new(200).gated(&gate).content_length(1000)).await;
        let mut client = m.client().await;
        client.request("GET", "/d/m/x").start().await.unwrap();
        gate.write(vec![b'x'; 400]);
        assert_eq!(client.read_head().await.unwrap().status, 200);
        read(&mut client, 400).await;
        gate.cut(how);
        assert_eq!(client.read_body().await.unwrap().ended, Ended::Aborted);
        m.rests().await;
        assert_eq!(m.outcomes("upstream_aborted").await, 1);
        assert_eq!(m.backend.seen().requests.len(), 1);
    }
}

/// What came before the end is passed on, even when all comes at once.
#[tokio::test]
async fn b12_a_part_is_delivered_and_is_no_whole() {
    let reply = Reply::ok(vec![b'x'; 400])
        .content_length(1000)
        .cut_after(400, Cut::Close);
    let m = Dedicated::new(reply).await;
    let response = m.get("/d/m/x").await;
    assert_eq!((response.status, response.body.len()), (200, 400));
    assert_eq!(response.ended, Ended::Aborted);
}

#[tokio::test]
async fn b12_over_http2_the_stream_is_reset() {
    let gate = Gate::new();
    let short = Reply::new(200).gated(&gate).content_length(1000);
    let m = Dedicated::new(as_asked(&gate).on("/short", short)).await;
    let mut client = m.h2().await;
    for target in ["/d/m/x", "/d/m/short"] {
        let mut response = client.send(h2_get(target)).await.unwrap();
        gate.write("data: 1\n\n");
        let event = response.read_chunk().await.unwrap().unwrap();
        assert_eq!(event.bytes, "data: 1\n\n");
        gate.abort();
        let body = response.read_body().await.unwrap();
        assert_eq!(body.ended, Ended::Aborted, "{target}");
    }
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_whole() {
    let m = Dedicated::new(Reply::ok("all of it").until_close()).await;
    let response = m.get("/d/m/x").await;
    assert_eq!(
        (&response.body[..], response.ended),
        (&b"all of it"[..], Ended::Clean)
    );
}

#[tokio::test]
async fn http2_without_tls_is_served_like_http1() {
    let script = Script::always(Reply::echo()).on("/get", Reply::ok("hello"));
    let m = Dedicated::new(script).await;
    let mut client = m.h2().await;
    let got = client.send(h2_get("/d/m/get")).await.unwrap();
    assert_eq!(got.status, 200);
    assert_eq!(got.headers["x-thermocline-deployment"], "m");
    assert_eq!(got.read_body().await.unwrap().bytes, "hello");
    let seen = m.backend.seen();
    let head = &seen.to("/get").next().unwrap().request;
    assert!(
        head.header("transfer-encoding").is_none(),
        "a GET has no body"
    );
    assert_eq!(head.header("host"), Some("router.test"));
    let large = vec![b'y'; 300_000];
    let request = http::Request::post("http://router.test/d/m/echo").body(large.clone().into());
    let echoed = client.send(request.unwrap()).await.unwrap();
    assert!(echoed.read_body().await.unwrap().bytes == large);
}

#[tokio::test]
async fn http2_events_are_not_kept() {
    let gate = Gate::new();
    let m = Dedicated::new(as_asked(&gate)).await;
    let mut client = m.h2().await;
    let mut response = client.send(h2_get("/d/m/x")).await.unwrap();
    for event in 0..20 {
        let event = format!("data: {event}\n\n");
        gate.write(event.clone());
        assert_eq!(response.read_chunk().await.unwrap().unwrap().bytes, event);
    }
    gate.finish();
    assert_eq!(response.read_body().await.unwrap().ended, Ended::Clean);
}

#[tokio::test]
async fn trailers_pass_both_ways_to_whoever_accepts_them() {
    let reply = Reply::echo()
        .header("trailer", "x-sum")
        .trailer("x-sum", "42");
    let m = Dedicated::new(reply).await;
    let mut client = m.client().await;
    for (te, expected) in [("trailers", Some("42")), ("gzip", None)] {
        let request = client
            .request("POST", "/d/m/x")
            .header("te", te)
            .header("connection", "te");
        let request = request.chunks(["ab", "cd"]).trailer("x-check", "7");
        let response = request.send().await.unwrap();
        assert_eq!(
            (response.text().as_str(), response.ended),
            ("abcd", Ended::Clean)
        );
        assert_eq!(response.trailers.get("x-sum"), expected, "te: {te}");
    }
    for record in m.backend.seen().requests {
        assert_eq!(record.trailers.get("x-check"), Some("7"));
    }
    let mut request = h2_get("/d/m/x");
    request
        .headers_mut()
        .insert("te", "trailers".parse().unwrap());
    let mut client = m.h2().await;
    let response = client.send(request).await.unwrap();
    let body = response.read_body().await.unwrap();
    assert_eq!(body.trailers.get("x-sum"), Some("42"));
    let seen = m.backend.seen();
    let last = seen.requests.last().unwrap();
    assert_eq!(last.header("te"), Some("trailers"));
}

#[tokio::test]
async fn an_answer_may_come_before_the_upload_has_ended() {
    let m = Dedicated::new(Reply::new(409).body("enough").reading(Reading::Never)).await;
    let mut client = m.client().await;
    let response = client
        .request("POST", "/d/m/x")
        .pattern(64 << 20, false)
        .send()
        .await
        .unwrap();
    assert_eq!((response.status, response.text().as_str()), (409, "enough"));
    m.rests().await;
}

#[tokio::test]
async fn an_echo_streams_both_ways_at_once() {
    let m = Dedicated::new(Reply::echo()).await;
    let mut client = m.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("transfer-encoding", "chunked");
    request.send_head().await.unwrap();
    let mut answered = false;
    for turn in 0..10 {
        let (sender, _) = client.halves();
        sender.send_chunk(format!("turn {turn}")).await.unwrap();
        if !std::mem::replace(&mut answered, true) {
            assert_eq!(client.read_head().await.unwrap().status, 200);
        }
        assert_eq!(
            read(&mut client, 6).await,
            format!("turn {turn}").as_bytes()
        );
    }
    client.halves().0.finish_chunks().await.unwrap();
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Clean);
}

/// The client takes a part of a large body and then nothing: what it holds is
/// given back when its patience has run out.
#[tokio::test]
async fn a_client_that_stops_reading_does_not_hold_its_place_for_ever() {
    let time = manual_clock();
    let m = Dedicated::on(&time, Reply::ok(vec![0; 64 << 20]), json!({})).await;
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").start().await.unwrap();
    client.read_head().await.unwrap();
    let mut waited = 0;
    while m.system.admin.status("m").await["in_flight"] != 0 {
        assert!(waited < 600, "it holds its place for ever");
        time.advance(secs(1));
        waited += 1;
    }
    m.backend.wait_for(|seen| seen.in_flight == 0).await;
    assert_eq!(client.read_body().await.unwrap().ended, Ended::Aborted);
}

/// With back-pressure an upload stands still; then it is whole.
#[tokio::test]
async fn an_upload_waits_for_a_backend_that_stops_reading() {
    let latch = Latch::new();
    let m = Dedicated::new(Reply::ok("done").reading(Reading::After(latch.clone()))).await;
    let mut client = m.client().await;
    let sent = client.halves().0.sent_bytes();
    let bytes = 64 << 20;
    let upload = tokio::spawn(async move {
        let request = client.request("POST", "/d/m/x").pattern(bytes, false);
        request.send().await.unwrap()
    });
    m.backend.wait_for(|seen| seen.in_flight == 1).await;
    m.system.admin.metrics().await;
    let stood = sent.load(std::sync::atomic::Ordering::Relaxed);
    assert!(
        stood < bytes / 2,
        "{stood} bytes were taken from the client"
    );
    latch.open();
    assert_eq!(upload.await.unwrap().text(), "done");
    let seen = m.backend.seen();
    let expected = thermocline_support::client::pattern_sha256(bytes);
    assert_eq!(seen.requests[0].body_sha256.as_ref(), Some(&expected));
}
