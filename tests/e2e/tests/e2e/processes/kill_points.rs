//! The process is ended at every point before and after each commit and each
//! call of a provider, from its start to the end of an instance's life, and
//! started again: nothing is lost, nothing is there twice.
//!
//! One number is one run: `THERMOCLINE_FAIL_AT` of a debug build.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use thermocline_support::process::{Server, Setup};
use thermocline_support::system::TOKEN;
use tokio::task::JoinSet;

const CLOUD: &str = "pod_boot = \"50ms\"\nservice_time = \"1ms\"\ncapacity = 20";
/// Runs at a time: most of each is waiting.
const SIDE_BY_SIDE: u64 = 6;
/// Tests that share the points among them.
const PARTS: u64 = 4;

/// What a user does, until the server is gone; `None` once it is.
struct Story<'s> {
    server: &'s Server,
    http: Client,
}

impl Story<'_> {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Option<StatusCode> {
        let url = format!("http://{}/api/v1{path}", self.server.admin.address);
        let mut request = self.http.request(method, url).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(&body);
        }
        Some(request.send().await.ok()?.status())
    }

    /// A pod from its intent to its proven absence.
    async fn tell(&self) -> Option<()> {
        let health = json!({ "ready": { "interval": "50ms" } });
        let tiers = json!({ "pod": { "provider": "toy", "idle_timeout": "10m" } });
        let spec = json!({ "image": "i", "tiers": tiers, "health": health });
        self.call(Method::PUT, "/deployments/m", Some(spec)).await?;
        let url = format!("http://{}/d/m/work", self.server.request);
        self.http.get(url).send().await.ok()?;
        self.call(Method::DELETE, "/deployments/m", None).await?;
        while self.call(Method::GET, "/deployments/m", None).await? != 404 {
            pause().await;
        }
        Some(())
    }
}

fn client() -> Client {
    let builder = Client::builder().no_proxy().pool_max_idle_per_host(0);
    builder.timeout(Duration::from_secs(30)).build().unwrap()
}

/// A run that ends at `point`; whether it came so far.
async fn run(point: u64) -> bool {
    let setup = Setup::new().with_cloud(CLOUD);
    let fatal = setup.clone().env("THERMOCLINE_FAIL_AT", &point.to_string());
    let mut reached = true;
    if let Some(mut server) = fatal.start_if_it_lasts().await {
        let http = client();
        let whole = Story {
            server: &server,
            http,
        }
        .tell()
        .await
        .is_some();
        reached = !whole || server.has_ended();
        if !reached {
            drop(server.kill().await);
        }
    }
    look(&setup, point).await;
    let server = setup.start().await;
    let status = Story {
        server: &server,
        http: client(),
    }
    .tell()
    .await;
    assert!(status.is_some(), "point {point}: {}", server.stderr());
    let left = setup.in_cloud().await;
    assert!(left.is_empty(), "point {point} leaves {left:?}");
    reached
}

/// While no server runs: what exists was intended, and is there once.
async fn look(setup: &Setup, point: u64) {
    if !setup.path("thermocline-sim-toy.json").exists() {
        return;
    }
    let exists = setup.in_cloud().await;
    let known = setup.written_down().await;
    let unknown: Vec<&String> = exists.iter().filter(|k| !known.contains_key(*k)).collect();
    assert!(
        unknown.is_empty(),
        "point {point}: nobody knows {unknown:?}"
    );
    assert!(exists.len() <= 1, "point {point}: {exists:?}");
}

async fn every_point(part: u64) {
    let beyond = Arc::new(AtomicBool::new(false));
    let mut runs = JoinSet::new();
    let mut points = (part..).step_by(PARTS as usize);
    let mut ended = 0;
    loop {
        while (runs.len() as u64) < SIDE_BY_SIDE && !beyond.load(Ordering::Acquire) {
            let (point, beyond) = (points.next().unwrap(), beyond.clone());
            runs.spawn(async move {
                let reached = run(point).await;
                beyond.fetch_or(!reached, Ordering::AcqRel);
                reached
            });
        }
        match runs.join_next().await {
            Some(reached) => ended += u64::from(reached.unwrap()),
            None => break,
        }
    }
    println!("part {part}: {ended} points, 0 orphans, 0 doubles");
    assert!(ended > 5, "only {ended} points were reached");
}

#[tokio::test]
async fn a_crash_at_any_point_loses_nothing_1() {
    every_point(0).await;
}

#[tokio::test]
async fn a_crash_at_any_point_loses_nothing_2() {
    every_point(1).await;
}

#[tokio::test]
async fn a_crash_at_any_point_loses_nothing_3() {
    every_point(2).await;
}

#[tokio::test]
async fn a_crash_at_any_point_loses_nothing_4() {
    every_point(3).await;
}

#[allow(clippy::disallowed_methods)] // between two looks at a process
async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
