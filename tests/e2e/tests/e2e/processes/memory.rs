//! What requests cost in memory while they wait and while they pass.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reading, Record, Reply};
use thermocline_support::client::{RawClient, pattern_sha256};
use thermocline_support::http1::sha256_hex;
use thermocline_support::process::{Server, Setup, raise_open_files};

const PARKED: usize = 1000;
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// The product's goal; an unoptimised build holds it, too.
const PER_PARKED: u64 = 16 * KIB;
const ROUNDS: u64 = 4;

#[tokio::test]
async fn parked_requests_are_small_and_their_memory_is_used_again() {
    if raise_open_files() < 4 * PARKED as u64 {
        eprintln!("skipped: too few files may be open");
        return;
    }
    let server = Setup::new().with_cloud("pod_boot = \"1h\"").start().await;
    let pod = json!({ "pod": { "provider": "toy" } });
    let cold = json!({ "max_wait": "5m", "max_pending": 2 * PARKED });
    let spec = json!({ "name": "m", "image": "i", "tiers": pod, "cold_start": cold });
    server.admin.deploy(spec).await;
    let fresh = server.resident_bytes();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let parked = park(&server).await;
        rounds.push(server.resident_bytes().saturating_sub(fresh));
        release(&server, parked).await;
    }
    let after = given_back(&server, fresh, rounds[0] / 2).await;
    let each = rounds[0] / PARKED as u64;
    eprintln!("{each} bytes per parked request; {rounds:?} more while parked, {after} after");
    assert!(each <= PER_PARKED, "{each}");
    assert!(after < rounds[0] / 2, "{after} are not given back");
    assert!(
        rounds.iter().all(|more| *more < 2 * rounds[0]),
        "{rounds:?}"
    );
}

/// What is still held once no more than `most` is, or after ten seconds: the
/// allocator gives pages back by its own clock, of which there is no event.
#[allow(clippy::disallowed_methods)]
async fn given_back(server: &Server, fresh: u64, most: u64) -> u64 {
    let held = || server.resident_bytes().saturating_sub(fresh);
    for _ in 0..100 {
        if held() < most {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    held()
}

async fn park(server: &Server) -> Vec<RawClient> {
    let parked = join_all((0..PARKED).map(|_| parked_client(server))).await;
    let all = |status: &serde_json::Value| status["waiting"] == PARKED;
    server.admin.wait_status("m", all).await;
    parked
}

async fn parked_client(server: &Server) -> RawClient {
    let mut client = server.client().await;
    let request = client
        .request("POST", "/d/m/")
        .body(vec![b'x'; KIB as usize]);
    request.start().await.unwrap();
    client
}

/// Answers them all, and makes the deployment as it was.
async fn release(server: &Server, mut parked: Vec<RawClient>) {
    server
        .admin
        .call(Method::POST, "/deployments/m/sleep", None)
        .await;
    for client in &mut parked {
        assert_eq!(client.read_head().await.unwrap().status, 503);
        client.read_body().await.unwrap();
    }
    drop(parked);
    let none = |status: &serde_json::Value| status["instances"] == json!([]);
    server.admin.wait_status("m", none).await;
    server
        .admin
        .call(Method::POST, "/deployments/m/wake", None)
        .await;
}

/// The case's size is 256 MiB each: `THERMOCLINE_TEST_B21_MIB=256`.
fn upload_bytes() -> u64 {
    let mib = std::env::var("THERMOCLINE_TEST_B21_MIB").ok();
    mib.map_or(24, |mib| mib.parse().unwrap()) * MIB
}

async fn upload(mut client: RawClient, target: &str, chunked: bool) {
    let upload = client
        .request("POST", target)
        .pattern(upload_bytes(), chunked);
    let answer = upload.send().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn eight_uploads(server: &Server, target: &str) {
    let before = server.resident_bytes();
    let clients = join_all((0..8).map(|_| server.client())).await;
    let uploads = clients.into_iter().enumerate();
    join_all(uploads.map(|(n, client)| upload(client, target, n % 2 == 0))).await;
    let growth = server.peak_bytes().saturating_sub(before);
    eprintln!(
        "8 uploads of {} MiB: {} KiB more at the peak",
        upload_bytes() / MIB,
        growth / KIB
    );
    assert!(growth < 64 * MIB, "{growth}");
}

#[tokio::test]
async fn b21_uploads_do_not_gather_before_a_slow_backend() {
    let backend = FakeBackend::start(Reply::ok("").reading(Reading::Slowly(20 * MIB))).await;
    let server = Setup::new().start().await;
    let spec = json!({ "name": "m", "tiers": { "dedicated": { "url": backend.url() } } });
    server.admin.deploy(spec).await;
    eight_uploads(&server, "/d/m/up").await;
    let wanted = pattern_sha256(upload_bytes());
    let seen = backend.seen();
    assert_eq!(seen.count("/up"), 8);
    assert!(
        seen.to("/up")
            .all(|record| record.body_sha256.as_ref() == Some(&wanted))
    );
}

#[tokio::test]
async fn b21_uploads_do_not_gather_while_the_deployment_is_cold() {
    let server = Setup::new().with_cloud("pod_boot = \"5s\"").start().await;
    let spec = json!({ "name": "m", "image": "i", "tiers": { "pod": { "provider": "toy" } } });
    server.admin.deploy(spec).await;
    eight_uploads(&server, "/d/m/up").await;
}

/// Bodies that are looked into for their model, as large as they may be.
#[tokio::test]
async fn b21_uploads_do_not_gather_where_the_body_names_the_model() {
    let backend = FakeBackend::start(Reply::ok("").reading(Reading::First)).await;
    let server = Setup::new().start().await;
    let spec = json!({ "name": "m", "tiers": { "dedicated": { "url": backend.url() } } });
    server.admin.deploy(spec).await;
    let before = server.resident_bytes();
    let mut body = br#"{"model":"m","input":""#.to_vec();
    body.resize(16 * MIB as usize - 2, b'x');
    body.extend_from_slice(b"\"}");
    let body = Bytes::from(body);
    let clients = join_all((0..8).map(|_| server.client())).await;
    let uploads = clients
        .into_iter()
        .map(|client| named_by_model(client, body.clone()));
    join_all(uploads).await;
    let growth = server.peak_bytes().saturating_sub(before);
    eprintln!(
        "8 JSON bodies of 16 MiB: {} KiB more at the peak",
        growth / KIB
    );
    assert!(growth < 64 * MIB, "{growth}");
    let wanted = sha256_hex([body]);
    let seen = backend.seen();
    assert_eq!(seen.count("/v1/up"), 8);
    let same = |record: &Record| record.body_sha256.as_ref() == Some(&wanted);
    assert!(seen.to("/v1/up").all(same));
}

async fn named_by_model(mut client: RawClient, body: Bytes) {
    let upload = client.request("POST", "/v1/up").body(body);
    let upload = upload.header("content-type", "application/json");
    let answer = upload.send().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}
