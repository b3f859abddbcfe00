//! B47: the server goes to addresses that users name only where the operator
//! lets it, and never where an answer sends it.

use reqwest::Method;
use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reply, Script};
use thermocline_support::process::{Server, Setup};

/// This machine, in words that hide it.
const THIS_MACHINE: [&str; 5] = [
    "127.0.0.1",
    "[::1]",
    "0x7f000001",
    "localhost",
    "[::ffff:127.0.0.1]",
];

/// Writes a deployment on the instance at `url`; the status.
async fn deploy(server: &Server, name: &str, url: &str) -> u16 {
    let spec =
        json!({ "tiers": { "dedicated": { "url": url } }, "cold_start": { "max_wait": "1s" } });
    let path = format!("/deployments/{name}");
    let (status, _) = server.admin.call(Method::PUT, &path, Some(&spec)).await;
    status.as_u16()
}

#[tokio::test]
async fn b47_nobody_reaches_this_machine_through_us_unless_the_operator_lets_them() {
    let sentinel = FakeBackend::start(Reply::ok("not for users")).await;
    let setup = Setup::new().env("THERMOCLINE_OUTBOUND__ALLOW_PRIVATE", "[]");
    let server = setup.start().await;
    for (n, host) in THIS_MACHINE.iter().enumerate() {
        let (name, url) = (
            format!("m{n}"),
            format!("http://{host}:{}", sentinel.port()),
        );
        if deploy(&server, &name, &url).await == 400 {
            continue;
        }
        let mut client = server.client().await;
        let target = format!("/d/{name}/x");
        let answer = client.request("GET", &target).send().await.unwrap();
        assert!(
            (502..=504).contains(&answer.status),
            "{url}: {}",
            answer.status
        );
    }
    assert_eq!(sentinel.seen().connections, 0);
}

#[tokio::test]
async fn b47_metadata_and_what_is_no_http_are_refused_when_they_are_written() {
    let server = Setup::new().start().await;
    let odd = [
        "http://169.254.169.254",
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/",
        "http://user:password@example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
    ];
    for url in odd {
        assert_eq!(deploy(&server, "m", url).await, 400, "{url}");
    }
}

#[tokio::test]
async fn b47_a_redirect_is_for_the_client_and_not_for_us() {
    let sentinel = FakeBackend::start(Reply::ok("not for users")).await;
    let elsewhere = format!("{}/secret", sentinel.url());
    let moved = Reply::new(302).header("location", elsewhere.clone());
    let backend = FakeBackend::start(Script::always(moved)).await;
    let server = Setup::new().start().await;
    assert_eq!(deploy(&server, "m", &backend.url()).await, 201);
    let mut client = server.client().await;
    let answer = client.request("GET", "/d/m/x").send().await.unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(answer.header("location"), Some(elsewhere.as_str()));
    assert_eq!(sentinel.seen().connections, 0);
}
