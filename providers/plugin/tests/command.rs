//! Plugins that are started by a command: the example adapter, and ones that misbehave.

#![allow(clippy::unwrap_used)] // tests

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use thermocline_clock::Clock;
use thermocline_plugin::{CommandLine, Launch, Supervised};
use thermocline_policy::Tier;
use thermocline_provider::conformance::{Setup, run};
use thermocline_provider::{InstanceRequest, Provider, ProviderErrorKind};
use tokio_util::sync::CancellationToken;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/adapter.py");

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

fn command(line: &[&str]) -> CommandLine {
    CommandLine::new("acme", &words(line)).unwrap()
}

/// The example, where there is a Python; says so where there is none.
fn example() -> Option<CommandLine> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: the example adapter needs python3, which is not installed");
        return None;
    }
    Some(command(&["python3", EXAMPLE]))
}

fn supervised(command: CommandLine) -> Supervised {
    Supervised::start("acme", command, Clock::system(), CancellationToken::new())
}

fn request() -> InstanceRequest {
    let request = json!({
        "owner": "o", "deployment": "d", "tier": Tier::Pod, "image": "image", "port": 80,
        "ready_path": "/",
    });
    serde_json::from_value(request).unwrap()
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work)
        .await
        .expect("it happens in time")
}

#[tokio::test]
async fn the_example_adapter_conforms() {
    let Some(example) = example() else { return };
    let provider = supervised(example);
    let setup = Setup {
        lifetime: Duration::from_secs(1),
        poll_every: Duration::from_millis(20),
        ..Setup::new(request())
    };
    let report = run(&provider, &setup).await;
    assert!(report.passed(), "{report}");
    let skipped = report.to_string().matches("skip ").count();
    assert_eq!(skipped, 0, "{report}");
}

/// The plugin is killed: it comes back, and whoever waits is told at once.
#[tokio::test]
async fn a_plugin_that_ends_is_started_again() {
    let Some(example) = example() else { return };
    let provider = supervised(example);
    let mut starts = provider.starts().boxed();
    within(starts.next()).await.unwrap();
    provider.create("key", &request()).await.unwrap();
    let pids = children();
    assert_eq!(pids.len(), 1, "one process");
    assert!(
        Command::new("kill")
            .args(["-9", &pids[0]])
            .status()
            .unwrap()
            .success()
    );
    within(starts.next()).await.unwrap();
    let page = provider.list("o", None).await.unwrap();
    assert!(page.instances.is_empty(), "its memory went with it");
    drop(provider);
    within(async {
        while !children().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The example adapters that this test process has started.
fn children() -> Vec<String> {
    let me = std::process::id();
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = |pid: &String| {
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let parent = read("status")
            .lines()
            .any(|line| line == format!("PPid:\t{me}"));
        parent && read("cmdline").contains("adapter.py")
    };
    listed
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(ours)
        .collect()
}

#[tokio::test]
async fn what_does_not_say_where_it_listens_is_no_plugin() {
    for line in [
        &["/bin/false"][..],
        &["/no/such/program"],
        &["/bin/echo", "hello"],
        &["/bin/echo", "THERMOCLINE-PLUGIN 1 http://192.0.2.1:80"],
    ] {
        let launched = command(line).launch().await;
        assert!(launched.is_err(), "{line:?}");
    }
}

#[tokio::test]
async fn a_plugin_that_does_not_come_up_is_unavailable() {
    let provider = supervised(command(&["/bin/false"]));
    let error = within(provider.get("i1")).await.unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Unreachable);
    assert!(error.before_effect(), "nobody could be asked");
}

/// The token is in the environment, our own variables are not.
#[tokio::test]
async fn a_plugin_gets_its_token_and_none_of_our_variables() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("env");
    let script = format!(
        "env > {}; echo THERMOCLINE-PLUGIN 1 http://127.0.0.1:1; sleep 60",
        file.display()
    );
    let launched = command(&["/bin/sh", "-c", &script]).launch().await.unwrap();
    let seen = std::fs::read_to_string(Path::new(&file)).unwrap();
    let ours: Vec<&str> = seen
        .lines()
        .filter(|line| line.starts_with("THERMOCLINE_"))
        .collect();
    assert_eq!(
        ours,
        [format!(
            "THERMOCLINE_PLUGIN_TOKEN={}",
            launched.token.unwrap()
        )]
    );
}
