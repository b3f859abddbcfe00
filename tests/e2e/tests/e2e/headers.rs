//! What of a head reaches the other side, and what we add.

use serde_json::json;
use thermocline_support::backend::{Reply, Script};
use thermocline_support::client::WebSocket;
use thermocline_support::http1::websocket::Opcode;
use thermocline_support::system::Setup;

use crate::dedicated::Dedicated;

fn routed() -> serde_json::Value {
    json!({ "routes": { "hosts": ["m1.local", "gw.example"] } })
}

#[tokio::test]
async fn b22_host_in_any_spelling_and_the_forwarded_headers() {
    let m = Dedicated::with(Reply::ok("hi"), routed()).await;
    let hosts = ["m1.local", "m1.local:8080", "M1.Local", "m1.local."];
    for host in hosts {
        let mut client = m.client().await;
        let request = client.request("GET", "/x").header("host", host);
        let response = request
            .header("x-forwarded-for", "10.0.0.9")
            .send()
            .await
            .unwrap();
        assert_eq!(response.status, 200, "{host}");
    }
    let seen = m.backend.seen();
    for (record, host) in seen.requests.iter().zip(hosts) {
        assert_eq!(record.header("host"), Some(host));
        assert_eq!(record.header("x-forwarded-host"), Some(host));
        assert_eq!(record.header("x-forwarded-proto"), Some("http"));
        let chain: Vec<&[u8]> = record.request.headers().all("x-forwarded-for").collect();
        assert_eq!(chain, [b"127.0.0.1"], "an untrusted peer is not believed");
    }
    assert_eq!(seen.requests.len(), 4);
}

#[tokio::test]
async fn b22_what_a_trusted_proxy_says_is_kept_and_appended_to() {
    let mut setup = Setup::new();
    setup.trusted = vec!["127.0.0.0/8".to_owned()];
    let m = Dedicated::within(setup, Reply::ok("hi"), routed()).await;
    let mut client = m.client().await;
    let request = client.request("GET", "/x").header("host", "m1.local");
    let request = request
        .header("x-forwarded-for", "10.0.0.9")
        .header("x-forwarded-proto", "https");
    let request = request
        .header("x-forwarded-host", "public.example")
        .header("forwarded", "for=10.0.0.9");
    assert_eq!(request.send().await.unwrap().status, 200);
    let seen = m.backend.seen();
    let record = &seen.requests[0];
    assert_eq!(
        record.header("x-forwarded-for"),
        Some("10.0.0.9, 127.0.0.1")
    );
    assert_eq!(record.header("x-forwarded-proto"), Some("https"));
    assert_eq!(record.header("x-forwarded-host"), Some("public.example"));
    assert_eq!(record.header("forwarded"), Some("for=10.0.0.9"));
}

#[tokio::test]
async fn b23_host_and_origin_are_not_rewritten_apart() {
    let script = Script::always(Reply::ok("hi"))
        .on("/ws", Reply::websocket_echo())
        .same_origin();
    let m = Dedicated::with(script, routed()).await;
    let ours = [
        ("host", "gw.example:8443"),
        ("origin", "https://gw.example:8443"),
    ];
    let mut client = m.client().await;
    for (method, headers, expected) in [
        ("GET", &ours[..], 200),
        ("POST", &ours[..], 200),
        ("GET", &ours[..1], 200),
        (
            "GET",
            &[ours[0], ("origin", "https://evil.example")][..],
            403,
        ),
    ] {
        let mut request = client.request(method, "/x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if method == "POST" {
            let kind = "multipart/form-data; boundary=b";
            request = request.header("content-type", kind);
            request =
                request.body("--b\r\ncontent-disposition: form-data; name=a\r\n\r\n1\r\n--b--\r\n");
        }
        assert_eq!(
            request.send().await.unwrap().status,
            expected,
            "{method} {headers:?}"
        );
    }
    let mut socket = WebSocket::open(m.client().await, "/ws", &ours)
        .await
        .unwrap();
    assert_eq!(
        socket.exchange(Opcode::Text, "hi").await.unwrap().payload,
        "hi"
    );
}

#[tokio::test]
async fn what_belongs_to_one_connection_stays_there() {
    let reply = Reply::ok("hi")
        .header("connection", "x-back")
        .header("x-back", "1");
    let m = Dedicated::new(
        reply
            .header("keep-alive", "timeout=5")
            .header("proxy-authenticate", "x"),
    )
    .await;
    let mut client = m.client().await;
    let request = client
        .request("GET", "/d/m/x")
        .header("connection", "keep-alive, X-Secret-Hop");
    let request = request
        .header("x-secret-hop", "1")
        .header("keep-alive", "timeout=5");
    let request = request
        .header("proxy-connection", "keep-alive")
        .header("proxy-authorization", "x");
    let request = request.header("te", "gzip").header("upgrade", "h2c");
    let response = request.header("x-stays", "1").send().await.unwrap();
    for gone in ["x-back", "keep-alive", "proxy-authenticate"] {
        assert!(!response.headers.contains(gone), "{gone}");
    }
    let seen = m.backend.seen();
    let got = &seen.requests[0];
    for gone in [
        "x-secret-hop",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "te",
        "upgrade",
        "connection",
    ] {
        assert!(got.header(gone).is_none(), "{gone}");
    }
    assert_eq!(got.header("x-stays"), Some("1"));
}

#[tokio::test]
async fn a_client_can_neither_forge_nor_strip_what_we_add() {
    let m = Dedicated::new(Reply::ok("hi")).await;
    let mut client = m.client().await;
    let request = client.request("GET", "/d/m/x");
    let request = request.header(
        "connection",
        "x-forwarded-for, x-request-id, x-forwarded-host, host",
    );
    let request = request
        .header("x-real-ip", "10.0.0.9")
        .header("forwarded", "for=10.0.0.9");
    let request = request
        .header("x-forwarded-prefix", "/evil")
        .header("x-forwarded-port", "1");
    let request = request
        .header("x_forwarded_for", "10.0.0.9")
        .header("x-thermocline-tier", "pod");
    request.send().await.unwrap();
    let seen = m.backend.seen();
    let got = &seen.requests[0];
    assert_eq!(got.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(got.header("x-forwarded-prefix"), Some("/d/m"));
    assert!(got.header("x-request-id").is_some() && got.header("host").is_some());
    for gone in [
        "x-real-ip",
        "forwarded",
        "x_forwarded_for",
        "x-forwarded-port",
        "x-thermocline-tier",
    ] {
        assert!(got.header(gone).is_none(), "{gone}");
    }
}

#[tokio::test]
async fn every_response_says_how_it_came_about() {
    let reply = Reply::ok("hi").header("server-timing", "model;dur=5");
    let m = Dedicated::new(reply.header("x-thermocline-tier", "pod")).await;
    let response = m.get("/d/m/x").await;
    assert_eq!(response.header("x-thermocline-deployment"), Some("m"));
    assert_eq!(response.header("x-thermocline-tier"), Some("dedicated"));
    assert_eq!(response.headers.all("x-thermocline-tier").count(), 1);
    assert_eq!(response.header("x-thermocline-start"), Some("warm"));
    assert_eq!(response.header("x-thermocline-reason"), Some("dedicated"));
    let timings: Vec<&[u8]> = response.headers.all("server-timing").collect();
    assert_eq!(timings[0], b"model;dur=5", "the backend's own is kept");
    let ours = std::str::from_utf8(timings[1]).unwrap();
    assert!(
        ours.starts_with("hold;dur=") && ours.contains(", upstream;dur="),
        "{ours}"
    );
    let refused = m.get("/nothing/here").await;
    assert_eq!(refused.status, 404);
    assert!(refused.header("x-request-id").is_some());
    assert!(refused.header("x-thermocline-deployment").is_none());
}

#[tokio::test]
async fn a_request_keeps_its_id_all_the_way() {
    let m = Dedicated::new(Reply::ok("hi").header("x-request-id", "backends-own")).await;
    let mut client = m.client().await;
    let request = client
        .request("GET", "/d/m/x")
        .header("x-request-id", "mine-7");
    let response = request.send().await.unwrap();
    assert_eq!(
        response.headers.all("x-request-id").collect::<Vec<_>>(),
        [b"mine-7"]
    );
    for bad in ["has space".to_owned(), "x".repeat(129)] {
        let request = client
            .request("GET", "/d/m/x")
            .header("x-request-id", bad.clone());
        let made = request.send().await.unwrap();
        assert_ne!(made.header("x-request-id"), Some(&bad[..]));
    }
    let seen = m.backend.seen();
    assert_eq!(seen.requests[0].header("x-request-id"), Some("mine-7"));
    assert_eq!(
        seen.requests[1]
            .request
            .headers()
            .all("x-request-id")
            .count(),
        1
    );
}

#[tokio::test]
async fn responses_without_a_body_keep_what_they_say_of_it() {
    let script = Script::always(Reply::ok("hello"))
        .on("/empty", Reply::new(204))
        .on("/same", Reply::new(304).header("etag", "\"1\""))
        .on(
            "/part",
            Reply::new(206)
                .header("content-range", "bytes 0-1/5")
                .body("he"),
        );
    let m = Dedicated::new(script).await;
    let mut client = m.client().await;
    let head = client.request("HEAD", "/d/m/x").send().await.unwrap();
    assert_eq!(
        (head.status, head.header("content-length"), head.body.len()),
        (200, Some("5"), 0)
    );
    let empty = client.request("GET", "/d/m/empty").send().await.unwrap();
    assert_eq!((empty.status, empty.header("content-length")), (204, None));
    assert!(!empty.headers.contains("transfer-encoding"));
    let same = client
        .request("GET", "/d/m/same")
        .header("if-none-match", "\"1\"")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (same.status, same.header("etag"), same.body.len()),
        (304, Some("\"1\""), 0)
    );
    let part = client
        .request("GET", "/d/m/part")
        .header("range", "bytes=0-1")
        .send()
        .await
        .unwrap();
    assert_eq!((part.status, part.text().as_str()), (206, "he"));
    assert_eq!(part.header("content-range"), Some("bytes 0-1/5"));
    let seen = m.backend.seen();
    assert_eq!(
        seen.to("/part").next().unwrap().header("range"),
        Some("bytes=0-1")
    );
    assert_eq!(seen.connections, 1, "one connection carries them all");
}

#[tokio::test]
async fn codings_and_redirects_are_passed_on_untouched() {
    let gzip = Reply::ok(&b"\x1f\x8b not really"[..]).header("content-encoding", "gzip");
    let moved = Reply::new(302).header("location", "http://169.254.169.254/");
    let m = Dedicated::new(Script::always(gzip).on("/moved", moved)).await;
    let coded = m.get("/d/m/x").await;
    assert_eq!(coded.header("content-encoding"), Some("gzip"));
    assert_eq!(&coded.body[..], b"\x1f\x8b not really");
    let redirect = m.get("/d/m/moved").await;
    assert_eq!(redirect.header("location"), Some("http://169.254.169.254/"));
}
