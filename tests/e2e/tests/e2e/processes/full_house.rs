//! As many requests parked on the fleet as may be: `THERMOCLINE_PARKED=10000`
//! is what the settings allow; it takes a limit of 50,000 open files.
#![allow(clippy::disallowed_methods)] // it measures

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use thermocline_support::backend::{Latch, Reply, Script};
use thermocline_support::client::RawClient;
use thermocline_support::kserve::FakeKserve;
use thermocline_support::process::{Server, Setup, raise_open_files};

use crate::scene::breathe;

const KIB: usize = 1024;
/// Clients that connect at a time.
const PORTION: usize = 100;
/// Files of a server in which nothing is parked, generously.
const FILES: usize = 200;

fn most() -> usize {
    let most = std::env::var("THERMOCLINE_PARKED").ok();
    most.map_or(300, |most| most.parse().unwrap())
}

/// A server whose one worker answers once `held` is open.
async fn server(most: usize, held: &Latch) -> (Server, FakeKserve) {
    let answers = Reply::ok("answer").held_until(held);
    let node = FakeKserve::start(&["resnet"], Script::always(answers)).await;
    let fleet = format!("[fleet]\nlisten = \"127.0.0.1:0\"\nmax_parked = {most}\n");
    let worker = format!(
        "[fleet.worker]\nruntime = \"{}\"\nmemory = \"8GiB\"\npermits = 32\n",
        node.url()
    );
    let setup = Setup::new().config(&format!("{fleet}{worker}"));
    let server = setup.start().await;
    let spec = json!({
        "name": "m", "image": "resnet", "resources": { "vram": "1GiB" },
        "tiers": { "serverless": { "provider": "fleet" } },
        "cold_start": { "max_wait": "10m", "max_pending": 2 * most },
        "limits": { "deadline": "10m", "first_byte": "10m" },
    });
    server.admin.deploy(spec).await;
    (server, node)
}

async fn asked(server: &Server) -> RawClient {
    let client = server.client().await;
    let mut client = client.with_patience(Duration::from_secs(300));
    let request = client.request("POST", "/d/m/infer");
    request.body(vec![b'x'; KIB]).start().await.unwrap();
    client
}

async fn answer(mut client: RawClient) -> (u16, String) {
    let status = client.read_head().await.unwrap().status;
    let body = client.read_body().await.unwrap();
    (status, String::from_utf8_lossy(&body.bytes).into_owned())
}

/// Waits until so many requests are parked.
async fn parked(server: &Server, wanted: usize) {
    let sample = format!("thermocline_fleet_parked {wanted}\n");
    while !server.admin.metrics().await.contains(&sample) {
        breathe(10).await;
    }
}

#[tokio::test]
async fn a_full_house_is_answered_to_the_last_and_who_comes_too_late_is_told_at_once() {
    let most = most();
    if raise_open_files() < 5 * most as u64 {
        eprintln!("skipped: too few files may be open");
        return;
    }
    let held = Latch::new();
    let (server, _node) = server(most, &held).await;
    let (fresh, idle_files) = (server.resident_bytes(), server.open_files());
    let began = Instant::now();
    let mut clients = Vec::new();
    while clients.len() < most {
        let portion = PORTION.min(most - clients.len());
        clients.extend(join_all((0..portion).map(|_| asked(&server))).await);
    }
    parked(&server, most).await;
    let parked_after = began.elapsed();
    let (full, files) = (server.resident_bytes(), server.open_files());
    let (status, body) = answer(asked(&server).await).await;
    assert_eq!(status, 429, "{body}");
    assert!(files <= 3 * most + FILES, "{files} files");
    let began = Instant::now();
    held.open();
    let answers = join_all(clients.into_iter().map(answer)).await;
    let wrong = answers.iter().find(|it| **it != (200, "answer".to_owned()));
    assert!(wrong.is_none(), "{wrong:?}");
    let answered_after = began.elapsed();
    parked(&server, 0).await;
    while server.open_files() > idle_files + FILES {
        breathe(10).await;
    }
    eprintln!(
        "{most} parked after {parked_after:?}: {files} files, {} bytes each; answered after {answered_after:?}",
        full.saturating_sub(fresh) / most as u64,
    );
}
