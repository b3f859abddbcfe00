//! The cloud's own process: it outlives whoever started it and is found again.

#![allow(clippy::unwrap_used)] // tests

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{quick, request};
use serde_json::{Value, json};
use tempfile::TempDir;
use thermocline_plugin::PluginProvider;
use thermocline_policy::Tier;
use thermocline_provider::{Provider, list_all};
use thermocline_sim::{Endpoint, Settings, ensure_running, stop};

const PROGRAM: &str = env!("CARGO_BIN_EXE_thermocline-sim");

/// A rendezvous file in a folder of its own; ends the process with the test.
struct Site {
    _folder: TempDir,
    file: PathBuf,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/sim.json");
        Site {
            _folder: folder,
            file,
        }
    }

    async fn ensure(&self) -> Endpoint {
        start(&self.file, &quick()).await
    }

    fn pid(&self) -> u64 {
        let text = std::fs::read(&self.file).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["pid"]
            .as_u64()
            .unwrap()
    }
}

async fn start(file: &Path, settings: &Settings) -> Endpoint {
    ensure_running(Path::new(PROGRAM), &[], file, settings)
        .await
        .unwrap()
}

fn provider(endpoint: &Endpoint) -> PluginProvider {
    PluginProvider::connect(&endpoint.url, Some(endpoint.token.clone())).unwrap()
}

async fn gone(file: &Path) {
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    while file.exists() {
        looks.tick().await;
    }
}

#[tokio::test]
async fn a_second_start_finds_the_process_and_its_instances() {
    let site = Site::new();
    let first = site.ensure().await;
    let made = provider(&first)
        .create("key", &request(Tier::Serverless, &[]))
        .await
        .unwrap();
    let pid = site.pid();

    let second = site.ensure().await;
    assert_eq!((site.pid(), &second), (pid, &first));
    let (listed, _) = list_all(&provider(&second), "owner").await.unwrap();
    assert_eq!(listed, [made]);

    assert!(stop(&site.file).await.unwrap());
    gone(&site.file).await;
    assert!(!stop(&site.file).await.unwrap());
}

#[tokio::test]
async fn starts_that_race_make_one_process() {
    let site = Site::new();
    let settings = quick();
    let (a, b, c) = tokio::join!(
        start(&site.file, &settings),
        start(&site.file, &settings),
        start(&site.file, &settings),
    );
    assert_eq!((&a, &a), (&b, &c));
    stop(&site.file).await.unwrap();
}

#[tokio::test]
async fn new_settings_reach_a_running_process() {
    let site = Site::new();
    site.ensure().await;
    let dearer = Settings {
        usd_per_hour: 9.5,
        ..quick()
    };
    let endpoint = start(&site.file, &dearer).await;
    let pod = provider(&endpoint)
        .create("key", &request(Tier::Pod, &[]))
        .await
        .unwrap();
    assert_eq!(pod.usd_per_hour, Some(9.5));
    stop(&site.file).await.unwrap();
}

#[tokio::test]
async fn a_killed_process_is_replaced() {
    let site = Site::new();
    let first = site.ensure().await;
    let pid = site.pid();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let second = site.ensure().await;
    assert_ne!(first.token, second.token);
    assert_ne!(site.pid(), pid);
    stop(&site.file).await.unwrap();
}

#[tokio::test]
async fn a_stale_or_broken_file_is_no_obstacle() {
    let stale = json!({"url": "http://127.0.0.1:1", "token": "t", "pid": 1}).to_string();
    let foreign = json!({"url": "http://192.0.2.1:80", "token": "t", "pid": 1}).to_string();
    for text in [stale.as_str(), foreign.as_str(), "{\"url\":", ""] {
        let site = Site::new();
        std::fs::create_dir_all(site.file.parent().unwrap()).unwrap();
        std::fs::write(&site.file, text).unwrap();
        let endpoint = site.ensure().await;
        assert_eq!(
            provider(&endpoint).capabilities().await.unwrap().name,
            "sim"
        );
        stop(&site.file).await.unwrap();
    }
}

#[tokio::test]
async fn the_token_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new();
    let endpoint = site.ensure().await;
    let mode = std::fs::metadata(&site.file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!format!("{endpoint:?}").contains(&endpoint.token));
    stop(&site.file).await.unwrap();
}

#[tokio::test]
async fn a_program_that_does_not_start_is_an_error() {
    let site = Site::new();
    let settings = quick();
    for program in ["/bin/false", "/no/such/program"] {
        let started = ensure_running(Path::new(program), &[], &site.file, &settings).await;
        assert!(started.is_err(), "{program}");
    }
}
