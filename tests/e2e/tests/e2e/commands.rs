//! The verbs against the real server, and the ways to name a deployment.

use serde_json::{Value, json};
use thermocline_support::backend::{FakeBackend, Reply};
use thermocline_support::process::{Ran, Server, Setup};

const CLOUD: &str = "pod_boot = \"50ms\"\ncold_start = \"5ms\"\nservice_time = \"1ms\"";

const TWO: &str = "\
name: chat
image: acme/chat:1
tiers:
  serverless: { provider: toy }
  pod: { provider: toy }
---
name: embed
image: acme/embed:1
tiers:
  pod: { provider: toy }
";

async fn server() -> Server {
    let setup = Setup::new().with_cloud(CLOUD);
    std::fs::write(setup.path("two.yaml"), TWO).unwrap();
    setup.start().await
}

#[track_caller]
fn ok(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.out
}

#[track_caller]
fn refused(ran: &Ran, code: i32, line: &str) {
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains(line), "{line:?} in {}", ran.err);
}

#[tokio::test]
async fn deployments_are_made_shown_and_deleted() {
    let server = server().await;
    let would = ok(server.run(&["deploy", "two.yaml", "--dry-run"]).await);
    assert_eq!(would, "chat would be created\nembed would be created\n");
    assert_eq!(ok(server.run(&["ps"]).await), "");
    let made = ok(server.run(&["deploy", "two.yaml"]).await);
    assert_eq!(
        made,
        "chat created (generation 1)\nembed created (generation 1)\n"
    );
    let again = ok(server.run(&["deploy", "two.yaml"]).await);
    assert_eq!(again, "chat unchanged\nembed unchanged\n");

    let list = ok(server.run(&["ps"]).await);
    assert!(
        list.starts_with("NAME ") && list.contains("\nchat ") && list.contains("\nembed "),
        "{list}"
    );
    let list: Value = serde_json::from_str(&ok(server.run(&["ps", "-o", "json"]).await)).unwrap();
    assert_eq!(list["items"][1]["name"], "embed");
    let told = ok(server.run(&["describe", "chat"]).await);
    assert!(
        told.contains("acme/chat:1") && told.contains("Decisions:"),
        "{told}"
    );

    assert_eq!(ok(server.run(&["delete", "chat"]).await), "chat deleted\n");
    refused(
        &server.run(&["describe", "chat"]).await,
        4,
        "no such deployment",
    );
    refused(
        &server.run(&["delete", "chat"]).await,
        4,
        "no such deployment",
    );
}

#[tokio::test]
async fn a_file_with_mistakes_changes_nothing_and_names_them_all() {
    let server = server().await;
    let file = server.setup().path("bad.yaml");
    std::fs::write(file, format!("{TWO}---\nname: bad\nimage: i\nport: 0\ntiers: {{ pod: {{ provider: nobody }}, pot: {{}} }}\n")).unwrap();
    let ran = server.run(&["deploy", "bad.yaml"]).await;
    for wrong in ["bad.yaml", "port", "tiers.pot"] {
        refused(&ran, 2, wrong);
    }
    assert_eq!(ok(server.run(&["ps"]).await), "");
}

#[tokio::test]
async fn a_deployment_is_woken_explained_forced_and_put_to_sleep() {
    let server = server().await;
    ok(server.run(&["deploy", "two.yaml"]).await);
    assert_eq!(
        ok(server.run(&["wake", "embed"]).await),
        "embed is running on pod\n"
    );
    let why = ok(server.run(&["explain", "embed"]).await);
    assert!(
        why.starts_with("embed is served by pod: ") && !why.contains("Next switch"),
        "{why}"
    );

    let why = ok(server.run(&["explain", "chat"]).await);
    assert!(
        why.starts_with("chat is served by serverless: ") && why.contains("promote it to pod."),
        "{why}"
    );
    let forced = ok(server
        .run(&["force", "chat", "--tier", "pod", "--for", "1h"])
        .await);
    assert!(
        forced.starts_with("chat is forced to pod until 20"),
        "{forced}"
    );
    let why = ok(server.run(&["explain", "chat"]).await);
    assert!(
        why.contains("(rule `forced`)") && why.contains("thermocline unforce chat"),
        "{why}"
    );
    assert_eq!(
        ok(server.run(&["wake", "chat"]).await),
        "chat is running on pod\n"
    );
    ok(server.run(&["unforce", "chat"]).await);
    refused(
        &server.run(&["force", "chat", "--tier", "local"]).await,
        3,
        "local",
    );
    refused(
        &server.run(&["force", "chat", "--tier", "cloud"]).await,
        2,
        "serverless",
    );

    assert_eq!(
        ok(server.run(&["sleep", "embed"]).await),
        "embed is stopped\n"
    );
    let mut client = server.client().await;
    let asleep = client.request("GET", "/d/embed/").send().await.unwrap();
    assert_eq!(asleep.status, 503);
    assert_eq!(
        ok(server.run(&["wake", "embed"]).await),
        "embed is running on pod\n"
    );
    let awake = client.request("GET", "/d/embed/").send().await.unwrap();
    assert_eq!(awake.status, 200);
}

#[tokio::test]
async fn a_deployment_that_is_woken_again_serves_at_once() {
    let server = Setup::new()
        .with_cloud("pod_boot = \"200ms\"")
        .start()
        .await;
    let spec = json!({ "name": "m", "image": "i", "tiers": { "pod": { "provider": "toy" } } });
    server.admin.deploy(spec).await;
    let mut waiting = server.client().await;
    waiting.request("GET", "/d/m/").start().await.unwrap();
    server
        .admin
        .wait_status("m", |status| status["waiting"] == 1)
        .await;
    ok(server.run(&["sleep", "m"]).await);
    assert_eq!(waiting.read_head().await.unwrap().status, 503);
    ok(server.run(&["wake", "m", "--no-wait"]).await);
    let mut client = server.client().await;
    let answer = client.request("GET", "/d/m/").send().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn what_happened_can_be_read_and_the_server_is_well() {
    let server = server().await;
    ok(server.run(&["deploy", "two.yaml"]).await);
    ok(server.run(&["wake", "embed"]).await);
    let events = ok(server.run(&["events"]).await);
    assert!(
        events.contains("deployment.created") && events.contains("embed"),
        "{events}"
    );
    let providers = ok(server.run(&["provider", "ls"]).await);
    assert!(
        providers.contains("\ntoy ") && providers.contains("\ndocker "),
        "{providers}"
    );

    // There is no Docker daemon here, and nobody misses it.
    let ran = server.run(&["doctor"]).await;
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(
        ran.out.contains("provider docker   ok       not there"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("provider toy      ok"), "{}", ran.out);
    let stranger = server.run(&["ps", "--token", "wrong"]).await;
    refused(&stranger, 3, "does not accept this token");
    let nobody = server.run(&["ps", "--server", "http://127.0.0.1:1"]).await;
    refused(&nobody, 1, "cannot reach the server");
}

#[tokio::test]
async fn a_backup_of_a_running_server_is_a_store_to_start_from() {
    let server = server().await;
    ok(server.run(&["deploy", "two.yaml"]).await);
    ok(server.run(&["backup", "copy.db"]).await);
    refused(
        &server.run(&["backup", "copy.db"]).await,
        3,
        "exists already",
    );
    let copy = format!("sqlite://{}", server.setup().path("copy.db").display());
    let copied = server.setup().clone().env("THERMOCLINE_STORE__URL", &copy);
    assert_eq!(copied.run(&["migrate"]).await.code, 0);
    let list = ok(copied.start().await.run(&["ps"]).await);
    assert!(
        list.contains("\nchat ") && list.contains("\nembed "),
        "{list}"
    );
}

#[tokio::test]
async fn a_deployment_is_named_in_each_of_four_ways() {
    let backend = FakeBackend::start(Reply::ok("hello")).await;
    let server = Setup::new()
        .config("[request]\nbase_domain = \"gpu.test\"\n")
        .start()
        .await;
    let tiers = json!({ "dedicated": { "url": backend.url() } });
    let routes = json!({ "hosts": ["chat.example.com"], "aliases": ["gpt"] });
    server
        .admin
        .deploy(json!({ "name": "chat", "tiers": tiers, "routes": routes }))
        .await;
    for (target, name, value) in [
        ("/d/chat/x", "x-none", ""),
        ("/d/gpt/x", "x-none", ""),
        ("/x", "x-thermocline-deployment", "chat"),
        ("/x", "x-gateway-model-name", "gpt"),
        ("/x", "host", "chat.example.com:8080"),
        ("/x", "host", "CHAT.gpu.test."),
    ] {
        let mut client = server.client().await;
        let request = client.request("GET", target).header(name, value);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status, 200, "{target} {name}: {value}");
        assert_eq!(answer.header("x-thermocline-deployment"), Some("chat"));
    }
    let mut client = server.client().await;
    let request = client.request("POST", "/v1/completions");
    let request = request.header("content-type", "application/json");
    let answer = request.body(r#"{"model":"gpt"}"#).send().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let unknown = client.request("GET", "/d/nobody/").send().await.unwrap();
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn an_instance_that_exits_is_told_with_its_exit_code() {
    let server = Setup::new().with_cloud(CLOUD).start().await;
    let env = json!({ "SIM_READY_DELAY": "1m", "SIM_EXIT_AFTER": "10ms", "SIM_EXIT_CODE": "37" });
    let health = json!({ "ready": { "path": "/ready" } });
    let spec = json!({ "name": "m", "image": "i", "env": env, "health": health, "tiers": { "pod": { "provider": "toy" } } });
    server.admin.deploy(spec).await;
    let mut client = server.client().await;
    let answer = client.request("GET", "/d/m/").send().await.unwrap();
    assert_eq!(answer.status, 503);
    assert!(
        answer.text().contains("exited with code 37"),
        "{}",
        answer.text()
    );
    assert!(answer.header("retry-after").is_some());
    let status = server.admin.wait_state("m", "failed").await;
    assert!(
        status["reason"].as_str().unwrap().contains("37"),
        "{status}"
    );
}
