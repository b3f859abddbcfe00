//! Request bodies: expectations, limits and sizes.

use serde_json::json;
use thermocline_support::backend::{Reading, Reply, Seen};
use thermocline_support::client::{Response, pattern_sha256};
use thermocline_support::http1::sha256_hex;
use thermocline_support::provider::Boot;

use crate::dedicated::Dedicated;
use crate::scene::{SECOND, Scene, ok, pod, secs};

const MIB: u64 = 1 << 20;

/// A POST that waits for the go-ahead, or sends its body `anyway`.
async fn expecting(scene: &Scene, anyway: bool) -> tokio::task::JoinHandle<(u16, u16)> {
    let mut client = scene.system.client().await;
    tokio::spawn(async move {
        let body = vec![7; 3 * MIB as usize];
        let request = client
            .request("POST", "/d/m/x")
            .header("expect", "100-continue");
        let request = request.header("content-length", body.len().to_string());
        request.send_head().await.unwrap();
        let (sender, receiver) = client.halves();
        if anyway {
            let (sent, head) = tokio::join!(sender.send_raw(&body), receiver.read_head());
            sent.unwrap();
            let head = match head.unwrap() {
                interim if interim.status == 100 => receiver.read_head().await.unwrap(),
                head => head,
            };
            return (100, head.status);
        }
        let interim = receiver.read_head().await.unwrap().status;
        sender.send_raw(&body).await.unwrap();
        (interim, receiver.read_head().await.unwrap().status)
    })
}

#[tokio::test]
async fn b19_an_expectation_is_met_when_the_backend_is_ready() {
    for anyway in [false, true] {
        let scene = Scene::new(ok()).await;
        scene.cloud.set_boot(Boot::After(secs(4)));
        scene.deploy(pod("10m"), json!({})).await;
        let request = expecting(&scene, anyway).await;
        scene
            .until(SECOND / 10, async || request.is_finished())
            .await;
        assert_eq!(request.await.unwrap(), (100, 200));
        assert!(scene.elapsed() >= secs(4));
        assert_eq!(scene.cloud.truth().created, 1, "one start");
        let seen = scene.cloud.backends()[0].seen();
        assert_eq!(seen.count("/x"), 1, "delivered once");
        let record = seen.to("/x").next().unwrap();
        assert_eq!(record.body_bytes, 3 * MIB);
        let expected = sha256_hex([vec![7; 3 * MIB as usize].into()]);
        assert_eq!(record.body_sha256, Some(expected));
        assert!(
            record.header("expect").is_none(),
            "the expectation was ours to meet"
        );
    }
}

#[tokio::test]
async fn b19_too_large_is_said_before_the_go_ahead() {
    let m = Dedicated::with(Reply::echo(), json!({ "limits": { "max_body": "1MiB" } })).await;
    let mut client = m.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("expect", "100-continue");
    let request = request.header("content-length", (3 * MIB).to_string());
    request.send_head().await.unwrap();
    let head = client.read_head().await.unwrap();
    assert_eq!(head.status, 413, "no 100 comes before");
    client.read_body().await.unwrap();
    assert!(head.headers.lists("connection", "close"));
    assert!(
        client.read_head().await.is_err(),
        "the connection is closed"
    );
    assert!(m.backend.seen().requests.is_empty());
}

#[tokio::test]
async fn a_backends_own_100_is_not_the_clients() {
    let m = Dedicated::new(Reply::ok("hi")).await;
    let mut client = m.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("expect", "100-continue");
    let response = request.body("body").send().await.unwrap();
    assert_eq!((response.status, response.text().as_str()), (200, "hi"));
    let seen = m.backend.seen();
    assert!(seen.requests[0].header("expect").is_none());
    assert!(seen.requests[0].continued.is_none());
}

async fn upload(m: &Dedicated, bytes: u64, chunked: bool) -> Response {
    let mut client = m.client().await;
    client
        .request("POST", "/d/m/x")
        .pattern(bytes, chunked)
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn b20_two_hundred_mebibytes_pass_both_ways() {
    let m = Dedicated::new(Reply::ok("done")).await;
    for chunked in [false, true] {
        let response = upload(&m, 200 * MIB, chunked).await;
        assert_eq!((response.status, response.text().as_str()), (200, "done"));
    }
    let expected = pattern_sha256(200 * MIB);
    for record in m.backend.seen().requests {
        assert_eq!(record.body_bytes, 200 * MIB);
        assert_eq!(record.body_sha256.as_ref(), Some(&expected));
    }
}

#[tokio::test]
async fn b20_over_the_limit_is_a_status_and_not_a_reset() {
    let m = Dedicated::with(
        Reply::ok("done"),
        json!({ "limits": { "max_body": "1MiB" } }),
    )
    .await;
    for chunked in [false, true] {
        let response = upload(&m, 5 * MIB, chunked).await;
        assert_eq!(response.status, 413, "chunked: {chunked}");
        let problem: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(problem["code"], "body_too_large");
    }
    assert_eq!(
        upload(&m, MIB, false).await.status,
        200,
        "the limit itself is allowed"
    );
    assert_eq!(upload(&m, MIB, true).await.status, 200);
    m.rests().await;
    assert_eq!(m.outcomes("client_error").await, 2);
}

/// The backend has the first byte while the client still holds most of the body.
#[tokio::test]
async fn b21_an_upload_is_passed_on_as_it_comes() {
    let m = Dedicated::new(Reply::ok("done").reading(Reading::First)).await;
    let mut client = m.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("transfer-encoding", "chunked");
    request.send_head().await.unwrap();
    let (sender, receiver) = client.halves();
    for sent in 1..=10 {
        sender.send_chunk([b'x'; 1000]).await.unwrap();
        let so_far = 1000 * sent;
        let arrived = move |seen: &Seen| {
            seen.requests
                .first()
                .is_some_and(|r| r.body_bytes == so_far)
        };
        m.backend.wait_for(arrived).await;
    }
    sender.finish_chunks().await.unwrap();
    assert_eq!(receiver.read_head().await.unwrap().status, 200);
}

/// A sixteenth of the body has been sent when the backend has its first byte,
/// whatever names the deployment and however the body is framed.
#[tokio::test]
async fn b21_the_first_byte_arrives_before_a_tenth_was_sent() {
    let m = Dedicated::new(Reply::ok("done").reading(Reading::First)).await;
    let opening = br#"{"stream":false,"model":"m","input":""#;
    for (target, chunked) in [
        ("/d/m/x", false),
        ("/d/m/x", true),
        ("/v1/x", false),
        ("/v1/x", true),
    ] {
        let before = m.backend.seen().requests.len();
        let mut body = vec![b'x'; 16 * MIB as usize - 2];
        body[..opening.len()].copy_from_slice(opening);
        body.extend_from_slice(b"\"}");
        let mut client = m.client().await;
        let request = client.request("POST", target);
        let request = request.header("content-type", "application/json");
        let request = match chunked {
            true => request.header("transfer-encoding", "chunked"),
            false => request.header("content-length", body.len().to_string()),
        };
        request.send_head().await.unwrap();
        let (sender, receiver) = client.halves();
        for (turn, piece) in body.chunks(MIB as usize).enumerate() {
            match chunked {
                true => sender.send_chunk(piece).await.unwrap(),
                false => sender.send_raw(piece).await.unwrap(),
            }
            if turn == 0 {
                let began = move |seen: &Seen| {
                    let record = seen.requests.get(before);
                    record.is_some_and(|r| r.body_bytes > 0)
                };
                m.backend.wait_for(began).await;
            }
        }
        if chunked {
            sender.finish_chunks().await.unwrap();
        }
        assert_eq!(receiver.read_head().await.unwrap().status, 200, "{target}");
        let expected = sha256_hex([body.into()]);
        assert_eq!(
            m.backend.seen().requests[before].body_sha256,
            Some(expected)
        );
    }
}

/// The body of a request that names its model may have 16 MiB, declared or not.
#[tokio::test]
async fn a_body_that_names_its_model_has_a_limit() {
    let m = Dedicated::new(Reply::ok("done").reading(Reading::First)).await;
    let mut body = vec![b' '; 17 * MIB as usize];
    let opening = br#"{"model":"m"}"#;
    body[..opening.len()].copy_from_slice(opening);
    for chunked in [false, true] {
        let mut client = m.client().await;
        let request = client.request("POST", "/v1/x");
        let request = request.header("content-type", "application/json");
        let request = match chunked {
            true => request.chunks(body.chunks(MIB as usize).map(<[u8]>::to_vec)),
            false => request.body(body.clone()),
        };
        let response = request.send().await.unwrap();
        assert_eq!(response.status, 413, "chunked: {chunked}");
    }
    m.rests().await;
}

/// While it is cold, no more than the cap is taken off a client.
#[tokio::test]
async fn b21_a_cold_upload_is_held_by_back_pressure() {
    let scene = Scene::new(ok()).await;
    scene.cloud.set_boot(Boot::After(secs(5)));
    scene.deploy(pod("10m"), json!({})).await;
    let mut client = scene.system.client().await;
    let sent = client.halves().0.sent_bytes();
    let upload = tokio::spawn(async move {
        client
            .request("POST", "/d/m/x")
            .pattern(64 * MIB, false)
            .send()
            .await
            .unwrap()
    });
    scene.cloud.wait_for(|truth| truth.created == 1).await;
    scene.step(secs(4)).await;
    let taken = sent.load(std::sync::atomic::Ordering::Relaxed);
    // 1 MiB by us, and what the sockets hold on both sides.
    assert!(taken < 16 * MIB, "{taken} bytes were taken while cold");
    let response = scene.answered(SECOND / 10, upload).await;
    assert_eq!(response.status, 200);
    let seen = scene.cloud.backends()[0].seen();
    let record = seen.to("/x").next().unwrap();
    assert_eq!(record.body_sha256, Some(pattern_sha256(64 * MIB)));
}
