//! The local tier on a real Docker daemon, through the whole product.
//!
//! `THERMOCLINE_TEST_DOCKER=1` promises the daemon, with the tests' image.

use std::net::TcpListener;

use futures_util::future::join;
use reqwest::Method;
use serde_json::{Value, json};
use thermocline_support::client::Response;
use thermocline_support::process::{Server, Setup};

pub(crate) const IMAGE: &str = "thermocline-test-backend:latest";

/// Where the daemon is, when one was promised.
pub(crate) fn daemon() -> Option<String> {
    if std::env::var("THERMOCLINE_TEST_DOCKER").as_deref() != Ok("1") {
        eprintln!("skipped: THERMOCLINE_TEST_DOCKER is not 1");
        return None;
    }
    let named = std::env::var("DOCKER_HOST").ok();
    Some(named.unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned()))
}

fn spec(name: &str, local: Value, env: Value) -> Value {
    let health = json!({ "ready": { "path": "/ready", "interval": "50ms" } });
    json!({ "name": name, "image": IMAGE, "tiers": { "local": local }, "env": env, "health": health })
}

async fn get(server: &Server, name: &str) -> Response {
    let mut client = server.client().await;
    let target = format!("/d/{name}/who");
    client.request("GET", &target).send().await.unwrap()
}

/// Deletes `names`, waits until it is so, and holds the daemon to it.
async fn clear(server: &Server, endpoint: &str, names: &[&str]) {
    for name in names {
        let path = format!("/deployments/{name}");
        server.admin.call(Method::DELETE, &path, None).await;
        server.admin.wait_status(name, Value::is_null).await;
    }
    let left = server.setup().in_docker(endpoint).await;
    assert_eq!(left, [] as [String; 0]);
}

#[tokio::test]
async fn a_container_is_started_for_the_first_request_and_deleted_with_its_deployment() {
    let Some(endpoint) = daemon() else { return };
    let server = Setup::new().with_docker(&endpoint).start().await;
    server.admin.deploy(spec("m", json!({}), json!({}))).await;
    let cold = get(&server, "m").await;
    assert_eq!(cold.status, 200, "{}", cold.text());
    assert_eq!(cold.header("x-thermocline-tier"), Some("local"));
    assert_eq!(cold.header("x-thermocline-start"), Some("cold"));
    let warm = get(&server, "m").await;
    assert_eq!(warm.header("x-thermocline-start"), Some("warm"));
    assert_eq!(warm.text(), cold.text(), "one container answers both");
    clear(&server, &endpoint, &["m"]).await;
}

#[tokio::test]
async fn b40_a_container_that_is_slow_to_stop_does_not_stand_in_the_way_of_the_next() {
    let Some(endpoint) = daemon() else { return };
    let server = Setup::new().with_docker(&endpoint).start().await;
    server
        .admin
        .deploy(spec("m", json!({}), json!({ "IGNORE_TERM": "8s" })))
        .await;
    let first = get(&server, "m").await;
    assert_eq!(first.status, 200, "{}", first.text());
    server
        .admin
        .call(Method::POST, "/deployments/m/sleep", None)
        .await;
    server.admin.wait_state("m", "stopped").await;
    server
        .admin
        .call(Method::POST, "/deployments/m/wake", None)
        .await;
    let began = now();
    let next = get(&server, "m").await;
    eprintln!("the next container answered after {:?}", began.elapsed());
    assert_eq!(next.status, 200, "{}", next.text());
    assert_ne!(next.text(), first.text(), "another container answers");
    let one = |status: &Value| {
        status["instances"]
            .as_array()
            .is_some_and(|all| all.len() == 1)
    };
    server.admin.wait_status("m", one).await;
    assert_eq!(server.setup().in_docker(&endpoint).await.len(), 1);
    server.kill().await.end_containers(&endpoint).await;
}

#[tokio::test]
async fn b41_a_taken_port_is_told_and_nothing_is_left_to_clear_by_hand() {
    let Some(endpoint) = daemon() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let server = Setup::new().with_docker(&endpoint).start().await;
    server
        .admin
        .deploy(spec("m", json!({ "host_port": port }), json!({})))
        .await;
    let refused = get(&server, "m").await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(
        refused.text().contains("\"port_conflict\""),
        "{}",
        refused.text()
    );
    assert_eq!(server.setup().in_docker(&endpoint).await, [] as [String; 0]);

    drop(taken);
    let answer = after_back_off(&server, "m").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    clear(&server, &endpoint, &["m"]).await;
}

/// Asks again as a client does that keeps to `retry-after`.
async fn after_back_off(server: &Server, name: &str) -> Response {
    for _ in 0..5 {
        let answer = get(server, name).await;
        let Some(seconds) = answer.header("retry-after") else {
            return answer;
        };
        rest(seconds.parse().unwrap()).await;
    }
    panic!("it stays refused: {}", server.admin.status(name).await);
}

#[tokio::test]
async fn b41_two_starts_at_the_same_moment_get_ports_of_their_own() {
    let Some(endpoint) = daemon() else { return };
    let server = Setup::new().with_docker(&endpoint).start().await;
    for name in ["a", "b"] {
        server.admin.deploy(spec(name, json!({}), json!({}))).await;
    }
    let (a, b) = join(get(&server, "a"), get(&server, "b")).await;
    assert_eq!(
        (a.status, b.status),
        (200, 200),
        "{} {}",
        a.text(),
        b.text()
    );
    assert_ne!(a.text(), b.text());
    clear(&server, &endpoint, &["a", "b"]).await;
}

#[tokio::test]
async fn a_container_that_ends_at_once_is_told_with_its_exit_code() {
    let Some(endpoint) = daemon() else { return };
    let server = Setup::new().with_docker(&endpoint).start().await;
    let env = json!({ "START_DELAY": "10s", "EXIT_AFTER": "100ms", "EXIT_CODE": "37" });
    server.admin.deploy(spec("m", json!({}), env)).await;
    let answer = get(&server, "m").await;
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("37"), "{}", answer.text());
    clear(&server, &endpoint, &["m"]).await;
}

#[allow(clippy::disallowed_methods)] // for the reader of the test's output
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[allow(clippy::disallowed_methods)] // the client's patience is real
async fn rest(seconds: u64) {
    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
}
