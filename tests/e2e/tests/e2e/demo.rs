//! `thermocline demo`: nothing is needed for it, and nothing is left of it.

use serde_json::Value;
use thermocline_support::process::{Running, Setup, is_alive};

const LISTEN: [&str; 4] = [
    "--request-listen",
    "127.0.0.1:0",
    "--admin-listen",
    "127.0.0.1:0",
];

fn demo(setup: &Setup, args: &[&str]) -> Running {
    setup.spawn(&[&["demo"], &LISTEN[..], args].concat())
}

/// A folder for the demo's own, and no Docker.
fn setup() -> Setup {
    let setup = Setup::new();
    let folder = setup.path("tmp");
    std::fs::create_dir(&folder).unwrap();
    let none = format!("unix://{}", setup.path("no.sock").display());
    setup
        .env("TMPDIR", folder.to_str().unwrap())
        .env("DOCKER_HOST", &none)
}

fn left(setup: &Setup) -> usize {
    std::fs::read_dir(setup.path("tmp")).unwrap().count()
}

/// The process of the demo's simulated cloud.
fn cloud(setup: &Setup) -> u32 {
    let mut folders = std::fs::read_dir(setup.path("tmp")).unwrap();
    let folder = folders.next().expect("the demo's folder").unwrap().path();
    let file = std::fs::read(folder.join("thermocline-sim-sim.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    file["pid"].as_u64().unwrap() as u32
}

async fn gone(pid: u32) {
    for _ in 0..500 {
        if !is_alive(pid) {
            return;
        }
        moment().await;
    }
    panic!("process {pid} is still there");
}

#[tokio::test]
async fn tiers_change_both_ways_and_nothing_is_left_when_it_is_ended() {
    let setup = setup();
    let mut demo = demo(&setup, &["--speed", "10"]);
    demo.out.wait_for("requests  http://127.0.0.1:").await;
    demo.out.wait_for("admin     http://127.0.0.1:").await;
    demo.out.wait_for("token ").await;
    let promoted = demo
        .out
        .wait_for("chat: serverless -> pod (promote, ")
        .await;
    assert!(promoted.starts_with('['), "{promoted}");
    demo.out.wait_for("chat: pod -> serverless (").await;
    demo.out.wait_for("NAME ").await;
    let steady = demo.out.wait_for("embed ").await;
    assert!(steady.contains("pod"), "{steady}");
    assert!(
        demo.err.text().contains("no local tier: "),
        "{}",
        demo.err.text()
    );
    assert!(!demo.err.text().contains(" INFO "), "{}", demo.err.text());

    let cloud = cloud(&setup);
    demo.terminate();
    demo.out.wait_for("summary: ").await;
    let header = demo.out.wait_for("TIER CHANGES").await;
    assert!(header.starts_with("NAME"), "{header}");
    assert!(
        header.contains("SERVERLESS $") && header.contains("POD $"),
        "{header}"
    );
    assert_eq!(demo.ended().await.code(), Some(0), "{}", demo.err.text());
    gone(cloud).await;
    assert_eq!(left(&setup), 0);
}

#[tokio::test]
async fn it_ends_by_itself_when_its_time_is_over() {
    let setup = setup();
    let mut demo = demo(&setup, &["--speed", "10", "--for", "2s"]);
    demo.out.wait_for("seed 1, 10x, until 2s").await;
    let cloud = cloud(&setup);
    assert_eq!(demo.ended().await.code(), Some(0), "{}", demo.err.text());
    gone(cloud).await;
    assert_eq!(left(&setup), 0);
}

#[tokio::test]
async fn the_local_tier_is_shown_where_there_is_docker() {
    let Some(endpoint) = crate::docker_tier::daemon() else {
        return;
    };
    let setup = setup().env("DOCKER_HOST", &endpoint);
    let mut demo = demo(&setup, &["--speed", "2"]);
    let row = demo.out.first(|line| {
        (line.starts_with("draw ") && line.contains(" running ")).then(|| line.to_owned())
    });
    let row = row.await.expect("a row of the local deployment");
    assert!(row.contains(" local "), "{row}");
    demo.terminate();
    assert_eq!(demo.ended().await.code(), Some(0), "{}", demo.err.text());
    assert_eq!(left(&setup), 0);
}

#[tokio::test]
async fn a_port_in_use_is_named_and_nothing_is_left() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let setup = setup();
    let ran = setup
        .run(&[
            "demo",
            "--admin-listen",
            &address,
            "--request-listen",
            "127.0.0.1:0",
        ])
        .await;
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains(&format!("admin.listen {address}: ")),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("--admin-listen"), "{}", ran.err);
    assert!(ran.err.contains("THERMOCLINE_ADMIN__LISTEN"), "{}", ran.err);
    assert_eq!(left(&setup), 0);
}

#[allow(clippy::disallowed_methods)] // the end of a process is no event for others
async fn moment() {
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
}
