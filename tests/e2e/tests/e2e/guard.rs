//! What is refused before anything else is looked at: a status, then the end.

use std::fmt::Write as _;

use serde_json::json;
use thermocline_support::backend::{Gate, Reading, Reply, Script};
use thermocline_support::client::{Ended, RawClient};
use thermocline_support::system::{Setup, manual_clock};

use crate::dedicated::Dedicated;
use crate::scene::secs;

async fn m() -> Dedicated {
    Dedicated::new(Reply::echo()).await
}

#[tokio::test]
async fn malformed_heads_get_a_status_and_the_connection_closes() {
    let m = m().await;
    for (head, expected) in [
        ("nonsense\r\n\r\n", 400),
        ("GET /d/m/x HTTP/1.1\r\n\r\n", 400),
        ("GET /d/m/x HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", 400),
        ("GET /d/m/x HTTP/1.1\r\nhost: a@b\r\n\r\n", 400),
        (
            "GET /d/m/x HTTP/1.1\r\nhost: a\r\nbad header: 1\r\n\r\n",
            400,
        ),
        ("GET /d/m/x HTTP/1.1\r\nhost: a\r\nname : 1\r\n\r\n", 400),
        (
            "POST /d/m/x HTTP/1.1\r\nhost: a\r\ncontent-length: 1x\r\n\r\n",
            400,
        ),
        (
            "POST /d/m/x HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\nz",
            400,
        ),
        (
            "POST /d/m/x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
        ),
        (
            "GET /d/m/x HTTP/1.1\r\nhost: a\r\nexpect: 200-ok\r\n\r\n",
            417,
        ),
        ("CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n", 501),
    ] {
        assert_eq!(m.raw(head).await, (expected, true), "{head:?}");
    }
    assert!(m.backend.seen().requests.is_empty());
}

#[tokio::test]
async fn every_refusal_of_a_head_says_what_is_wrong_and_has_an_id() {
    let m = m().await;
    let large = format!(
        "GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n",
        "x".repeat(70_000)
    );
    let long = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "p".repeat(9_000));
    for (head, status, code) in [
        ("nonsense\r\n\r\n", 400, "bad_request"),
        (
            "GET / HTTP/1.1\r\nhost: a\r\nname : 1\r\n\r\n",
            400,
            "bad_request",
        ),
        (
            "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
            400,
            "bad_host",
        ),
        (&large, 431, "head_too_large"),
        (&long, 414, "uri_too_long"),
    ] {
        for plane in [m.system.request, m.system.admin.address] {
            let admin = plane == m.system.admin.address;
            if admin && matches!(code, "bad_host" | "uri_too_long") {
                continue; // that plane is found by its address alone
            }
            // Also on a connection that has answered something before.
            for before in [false, true] {
                let mut client = RawClient::connect(plane).await.unwrap();
                if before {
                    client.request("GET", "/healthz").send().await.unwrap();
                }
                client.send_raw(head).await.unwrap();
                let answer = client.read_head().await.unwrap();
                let body = client.read_body().await.unwrap().bytes;
                assert_eq!(answer.status, status, "{head:?}");
                assert!(answer.headers.lists("connection", "close"));
                let kind = answer.headers.get("content-type");
                assert_eq!(kind, Some("application/problem+json"));
                let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(problem["code"], code, "{head:?}");
                let id = answer.headers.get("x-request-id");
                assert!(
                    id.is_some_and(|id| problem["request_id"] == id),
                    "{problem}"
                );
                assert!(client.read_head().await.is_err(), "it is closed");
            }
        }
    }
}

/// What looks like such an answer and is a backend's passes as it is.
#[tokio::test]
async fn a_body_that_looks_like_a_refusal_is_a_body() {
    let lookalike = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let gate = Gate::new();
    let m = Dedicated::new(Reply::new(200).gated(&gate)).await;
    let mut client = m.client().await;
    let request = "GET /d/m/x HTTP/1.0\r\nhost: a\r\n\r\n";
    client.send_raw(request).await.unwrap();
    gate.write("first");
    assert_eq!(client.read_head().await.unwrap().status, 200);
    assert_eq!(client.read_chunk().await.unwrap().unwrap().bytes, "first");
    gate.write(lookalike);
    gate.finish();
    assert_eq!(client.read_body().await.unwrap().bytes, lookalike);
}

/// The framing of a body shows only when it comes: that is the client's fault,
/// also while the deployment is cold, and no sign that it left.
#[tokio::test]
async fn a_body_whose_chunks_are_malformed_is_400() {
    let m = Dedicated::new(Reply::ok("done").reading(Reading::First)).await;
    for chunks in ["zz\r\n", "1\r\n !\r\n", "-1\r\n\r\n", "1;\nx\r\n"] {
        for target in ["/d/m/x", "/v1/x"] {
            let head = format!(
                "POST {target} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                 transfer-encoding: chunked\r\n\r\n"
            );
            assert_eq!(m.raw(&(head + chunks)).await, (400, true), "{chunks:?}");
        }
    }
    m.rests().await;
    assert_eq!(m.outcomes("client_error").await, 4);
    assert_eq!(m.outcomes("client_left").await, 0);
}

#[tokio::test]
async fn an_unknown_coding_is_never_guessed() {
    let m = m().await;
    for coding in [
        "gzip",
        "gzip, chunked",
        "chunked, gzip",
        "xchunked",
        "identity",
    ] {
        let head =
            format!("POST /d/m/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: {coding}\r\n\r\n");
        let (status, closed) = m.raw(&head).await;
        assert!(matches!(status, 400 | 501) && closed, "{coding}: {status}");
    }
    assert!(m.backend.seen().requests.is_empty());
}

/// Refused where a connection begins with it. Later chunks win, the length goes,
/// and nothing after them is taken for a request.
#[tokio::test]
async fn a_length_beside_chunks_smuggles_nothing() {
    let m = m().await;
    for framing in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
    ] {
        let smuggled = "GET /d/m/smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
        let head = format!("POST /d/m/x HTTP/1.1\r\nhost: a\r\n{framing}\r\n0\r\n\r\n{smuggled}");
        for before in [false, true] {
            let mut client = m.client().await;
            if before {
                client.request("GET", "/-/healthz").send().await.unwrap();
            }
            client.send_raw(&head).await.unwrap();
            let (answers, _) = client.read_to_end_raw().await.unwrap();
            let answers = String::from_utf8_lossy(&answers).into_owned();
            assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
            let expected = if before {
                "HTTP/1.1 200 "
            } else {
                "HTTP/1.1 400 "
            };
            assert!(answers.starts_with(expected), "{answers}");
        }
    }
    let seen = m.backend.seen();
    assert_eq!((seen.count("/smuggled"), seen.count("/x")), (0, 2));
    assert!(seen.to("/x").all(|r| r.header("content-length").is_none()));
}

#[tokio::test]
async fn large_heads_are_431_and_long_targets_414() {
    let m = m().await;
    let large = "x".repeat(40 * 1024);
    let head = format!("GET /d/m/x HTTP/1.1\r\nhost: a\r\nx-large: {large}\r\n\r\n");
    assert_eq!(m.raw(&head).await, (431, true));
    let mut many = "GET /d/m/x HTTP/1.1\r\nhost: a\r\n".to_owned();
    for i in 0..200 {
        let _ = write!(many, "x-{i}: 1\r\n");
    }
    assert_eq!(m.raw(&(many + "\r\n")).await, (431, true));
    // Beyond the whole head's bound it is that bound which is broken.
    for (length, status) in [(9 * 1024, 414), (70 * 1024, 431)] {
        let path = "p".repeat(length);
        let head = format!("GET /d/m/{path} HTTP/1.1\r\nhost: a\r\n\r\n");
        assert_eq!(m.raw(&head).await, (status, true), "{length}");
    }
    assert!(m.backend.seen().requests.is_empty());
}

#[tokio::test]
async fn a_head_without_end_is_431() {
    let m = m().await;
    let mut client = m.client().await;
    let endless = format!(
        "GET /d/m/x HTTP/1.1\r\nhost: a\r\nx: {}",
        "x".repeat(1 << 20)
    );
    let _ = client.send_raw(endless).await;
    assert_eq!(client.read_head().await.unwrap().status, 431);
}

async fn hurried() -> Dedicated {
    let mut setup = Setup::new();
    setup.timeouts.head = std::time::Duration::from_millis(50);
    Dedicated::within(setup, Reply::ok("hi"), json!({})).await
}

/// Ten seconds, shortened here; how they are counted the edge's own tests say.
#[tokio::test]
async fn a_head_that_does_not_end_in_time_ends_its_connection() {
    let m = hurried().await;
    let mut client = m.client().await;
    client
        .send_raw("GET /d/m/x HTTP/1.1\r\nhost: a\r\nx")
        .await
        .unwrap();
    let (bytes, _) = client.read_to_end_raw().await.unwrap();
    assert!(bytes.is_empty());
    let mut client = m.client().await;
    client.request("GET", "/d/m/x").send().await.unwrap();
    client.send_raw("GET /d/m/x HT").await.unwrap();
    assert!(client.read_to_end_raw().await.unwrap().0.is_empty());
    assert_eq!(m.backend.seen().requests.len(), 1);
}

#[tokio::test]
async fn a_connection_that_sends_nothing_is_closed() {
    let m = hurried().await;
    let (bytes, ended) = m.client().await.read_to_end_raw().await.unwrap();
    assert_eq!((bytes.len(), ended), (0, Ended::Clean));
}

/// Between two requests the longer patience holds, also after answers of ours.
#[tokio::test]
async fn an_idle_connection_outlives_the_time_for_a_head() {
    let time = manual_clock();
    let m = Dedicated::on(&time, Reply::ok("hi"), json!({})).await;
    let mut client = m.client().await;
    for target in ["/-/healthz", "/unknown", "/d/m/x", "/d/m/x"] {
        client.request("GET", target).send().await.unwrap();
        m.system.admin.metrics().await;
        time.advance(secs(60));
        m.system.admin.metrics().await;
    }
    client.request("GET", "/d/m/x").send().await.unwrap();
    time.advance(secs(76));
    assert!(client.read_head().await.is_err(), "closed after 75 s");
}

#[tokio::test]
async fn a_malformed_response_is_the_backends_fault() {
    let raw = |text: &'static str| Reply::raw(text.as_bytes());
    let both =
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let two = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd";
    let script = Script::always(raw("nonsense\r\n\r\n"))
        .on("/both", raw(both))
        .on("/two", raw(two))
        .on(
            "/coded",
            raw("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n"),
        )
        .on("/none", raw(""));
    let m = Dedicated::new(script).await;
    for path in ["/d/m/x", "/d/m/both", "/d/m/two", "/d/m/coded", "/d/m/none"] {
        let response = m.get(path).await;
        assert_eq!(response.status, 502, "{path}");
    }
    assert_eq!(m.outcomes("backend_broke").await, 5);
}
