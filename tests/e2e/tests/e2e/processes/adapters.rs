//! Providers that live in processes of their own, and what becomes of them.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_fake_runpod::{FakeRunpod, Settings};
use thermocline_support::process::{CLOUD, Server, Setup, is_alive};

const EXAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../providers/plugin/examples/adapter.py"
);

/// How long something may take, in looks of 50 ms.
const LOOKS: usize = 800;

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..LOOKS {
        looks.tick().await;
        if holds().await {
            return;
        }
    }
    panic!("it never comes true: {what}");
}

async fn status_of_a_request(server: &Server) -> u16 {
    let mut client = server.client().await;
    let request = client
        .request("GET", "/d/m/")
        .header("x-thermocline-timeout", "20s");
    request.send().await.unwrap().status
}

async fn health(server: &Server, name: &str) -> Value {
    let (_, body) = server
        .admin
        .call(reqwest::Method::GET, "/providers", None)
        .await;
    let items = body["items"].as_array().unwrap().clone();
    let provider = items.into_iter().find(|it| it["name"] == name).unwrap();
    provider["health"].clone()
}

fn kill(pid: u64) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// The whole simulated cloud is gone with its instances: it comes back by
/// itself, what was lost is replaced, and nobody has to do anything.
#[tokio::test]
async fn a_simulated_cloud_that_was_killed_comes_back() {
    let keys = "pod_boot = \"100ms\"\ncold_start = \"20ms\"\nservice_time = \"1ms\"";
    let setup = Setup::new().with_cloud(keys);
    let server = setup.start().await;
    let pod = json!({ "provider": CLOUD, "min_instances": 3 });
    server
        .admin
        .deploy(json!({ "name": "m", "image": "i", "tiers": { "pod": pod } }))
        .await;
    assert_eq!(status_of_a_request(&server).await, 200);
    let before = server.admin.status("m").await["instances"][0]["id"].clone();
    let file = setup.path(&format!("thermocline-sim-{CLOUD}.json"));
    let cloud: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    kill(cloud["pid"].as_u64().unwrap());
    until("it is served again", async || {
        status_of_a_request(&server).await == 200
    })
    .await;
    until("the provider is well", async || {
        health(&server, CLOUD).await == "ok"
    })
    .await;
    let after = server.admin.status("m").await["instances"].clone();
    let replaces = |it: &Value| it["state"] == "ready" && it["id"] != before;
    assert!(after.as_array().unwrap().iter().any(replaces), "{after}");
}

#[tokio::test]
async fn a_plugin_is_started_by_its_command_checks_what_is_written_and_ends_with_the_server() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: the example adapter needs python3, which is not installed");
        return;
    }
    let command =
        format!("[providers.shed]\nkind = \"plugin\"\ncommand = [\"python3\", {EXAMPLE:?}]\n");
    let setup = Setup::new().config(&command);
    let server = setup.start().await;
    let pod = json!({ "provider": "shed" });
    server
        .admin
        .deploy(json!({ "name": "m", "image": "i", "tiers": { "pod": pod } }))
        .await;
    assert_eq!(status_of_a_request(&server).await, 200);
    let said = server.stderr();
    assert!(
        said.contains("the shed is open"),
        "its stderr is in our log: {said}"
    );
    let offers = server
        .run(&["provider", "offers", "shed", "-o", "json"])
        .await;
    assert_eq!(offers.code, 0, "{}", offers.err);
    assert!(
        offers.out.contains("\"usd_per_hour\": 0.25"),
        "{}",
        offers.out
    );
    let unknown = json!({ "provider": "shed", "gpu": ["Spade 16", "H100"] });
    let spec = json!({ "name": "n", "image": "i", "tiers": { "pod": unknown } });
    let write = server
        .admin
        .call(reqwest::Method::POST, "/deployments", Some(&spec));
    let (status, refused) = write.await;
    assert_eq!(status, 400, "{refused}");
    let error = &refused["errors"][0];
    assert_eq!(error["field"], "tiers.pod.gpu[1]");
    assert_eq!(error["message"], "is no GPU of the shed; it has Spade 16");
    let plugins = adapters_of(&setup);
    assert_eq!(plugins.len(), 1);
    drop(server.kill().await);
    until("it ends with the server", async || !is_alive(plugins[0])).await;
    let mut again = setup.start().await;
    until("it is started again", async || {
        !adapters_of(&setup).is_empty()
    })
    .await;
    let plugins = adapters_of(&setup);
    again.terminate();
    assert!(again.ended().await.success());
    until("it ends with the drain", async || !is_alive(plugins[0])).await;
}

/// An adapter that takes calls and never answers slows nobody but itself.
#[tokio::test]
async fn a_plugin_that_hangs_slows_no_other() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let config = format!("[providers.silent]\nkind = \"plugin\"\nurl = \"{url}\"\n");
    let keys = "pod_boot = \"100ms\"\ncold_start = \"20ms\"\nservice_time = \"1ms\"";
    let server = Setup::new().with_cloud(keys).config(&config).start().await;
    let stuck = json!({ "serverless": { "provider": "silent" } });
    let stuck = json!({ "name": "stuck", "image": "i", "tiers": stuck });
    server.admin.deploy(stuck).await;
    let mut client = server.client().await;
    let waits = tokio::spawn(async move {
        let request = client.request("GET", "/d/stuck/");
        let request = request.header("x-thermocline-timeout", "5s");
        request.send().await.unwrap().status
    });
    let tiers = json!({ "serverless": { "provider": CLOUD }, "pod": { "provider": CLOUD } });
    let policy = json!({ "window": "1s", "promote_rps": 2, "demote_rps": 1 });
    let spec = json!({ "name": "m", "image": "i", "tiers": tiers, "policy": policy });
    server.admin.deploy(spec).await;
    let clock = Clock::system();
    let began = clock.now();
    let mut client = server.client().await;
    loop {
        let answer = client.request("GET", "/d/m/").send().await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        if answer.header("x-thermocline-tier") == Some("pod") {
            break;
        }
        clock.sleep(Duration::from_millis(50)).await;
        assert!(
            clock.now().since(began) < Duration::from_secs(4),
            "it is not promoted in time"
        );
    }
    assert_eq!(server.admin.open_get("/healthz").await, 200);
    assert_eq!(waits.await.unwrap(), 504);
    until("it is told", async || {
        health(&server, "silent").await == "unavailable"
    })
    .await;
    assert_eq!(health(&server, CLOUD).await, "ok");
}

/// The example adapters that work in the folder of `setup`.
fn adapters_of(setup: &Setup) -> Vec<u32> {
    let folder = setup.path(".").canonicalize().unwrap();
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let ours = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("adapter.py") && cwd == folder
    };
    pids.filter(ours).collect()
}

#[tokio::test]
async fn provider_test_names_the_clause_that_failed() {
    let setup = Setup::new();
    let nobody = setup.run(&["provider", "test", "http://127.0.0.1:1"]).await;
    assert_eq!(nobody.code, 1, "{}", nobody.err);
    let nonsense = setup.run(&["provider", "test", "ftp://there"]).await;
    assert_eq!(nonsense.code, 2, "{}", nonsense.err);
    let keys = "pod_boot = \"10ms\"\nservice_time = \"1ms\"\ncold_start = \"10ms\"";
    let setup = setup.with_cloud(keys);
    let server = setup.start().await;
    let file = setup.path(&format!("thermocline-sim-{CLOUD}.json"));
    let cloud: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (url, token) = (
        cloud["url"].as_str().unwrap(),
        cloud["token"].as_str().unwrap(),
    );
    let test = [
        "provider",
        "test",
        url,
        "--token-env",
        "ADAPTER_TOKEN",
        "--lifetime",
        "2s",
        "-o",
        "json",
    ];
    let told = setup.clone().env("ADAPTER_TOKEN", token);
    let passed = told.run(&test).await;
    assert_eq!(passed.code, 0, "{}", passed.err);
    let report: Value = serde_json::from_str(&passed.out).unwrap();
    let outcomes = report["items"].as_array().unwrap();
    assert!(
        outcomes.iter().all(|it| {
            let only_of_pods =
                it["tier"] == "serverless" && it["why"] == "pods alone have lifetimes";
            let nothing_to_check = it["why"] == "it says no checks";
            it["outcome"] == "passed" || only_of_pods || nothing_to_check
        }),
        "{report}"
    );
    let body = json!({ "fail_create": 1000 });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let faults = http
        .put(format!("{url}/v1/faults"))
        .bearer_auth(token)
        .json(&body);
    assert_eq!(faults.send().await.unwrap().status(), 204);
    let lacking = told.run(&[&test[..], &["--tier", "local"]].concat()).await;
    assert_eq!(lacking.code, 3, "{}", lacking.err);
    assert!(
        lacking.err.contains("capabilities: it lacks tier local"),
        "{}",
        lacking.err
    );
    let failed = told.run(&[&test[..], &["--tier", "pod"]].concat()).await;
    assert_eq!(failed.code, 3, "{}", failed.err);
    assert!(
        failed.err.contains("FAIL create-idempotent"),
        "{}",
        failed.err
    );
    drop(server);
}

/// A key in the environment is all that it takes; neither log nor answer holds it.
#[tokio::test]
async fn a_key_in_the_environment_makes_the_provider_runpod() {
    const KEY: &str = "sentinel-runpod-key";
    let fake = FakeRunpod::anywhere(KEY, Clock::system(), Settings::quick())
        .await
        .unwrap();
    let setup = Setup::new()
        .env("RUNPOD_API_KEY", KEY)
        .env("THERMOCLINE_PROVIDERS__RUNPOD__API_URL", &fake.urls.api)
        .env("THERMOCLINE_PROVIDERS__RUNPOD__JOB_URL", &fake.urls.jobs)
        .env("THERMOCLINE_PROVIDERS__RUNPOD__POD_URL", &fake.urls.pod)
        .env(
            "THERMOCLINE_PROVIDERS__RUNPOD__ENDPOINT_URL",
            &fake.urls.endpoint,
        );
    let server = setup.start().await;
    let tiers = json!({ "serverless": { "provider": "runpod", "gpu": ["ADA_24"] } });
    let health = json!({ "ready": { "path": "/ping" } });
    server
        .admin
        .deploy(json!({ "name": "m", "image": "i", "tiers": tiers, "health": health }))
        .await;
    assert_eq!(status_of_a_request(&server).await, 200);
    let listed = server.run(&["provider", "offers", "runpod"]).await;
    assert!(
        listed.out.contains("NVIDIA L4") && listed.out.contains("ADA_24"),
        "{}",
        listed.out
    );
    let ps = server.run(&["describe", "m", "-o", "json"]).await;
    for text in [server.stderr(), listed.out, ps.out] {
        assert!(!text.contains(KEY), "{text}");
    }
    let setup = server.kill().await;
    let store = std::fs::read(setup.path("store.db")).unwrap();
    let log = std::fs::read(setup.path("store.db-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(KEY.len()).any(|it| it == KEY.as_bytes());
    assert!(!holds(&store) && !holds(&log), "the key is in the store");
}
