use serde_json::{Value, json};

use crate::stub::{Reply, Stub, failed, list, problem, raw, run, said};

const PROVIDERS: &str = "GET /api/v1/providers";
const DEPLOYMENTS: &str = "GET /api/v1/deployments";

fn ok() -> Reply {
    raw(200, "text/plain", "ok")
}

fn two() -> Reply {
    list(&json!([
        { "name": "toy", "kind": "sim", "health": "ok", "rate_limited_until": null, "last_error": null },
        { "name": "runpod", "kind": "runpod", "health": "failing",
          "rate_limited_until": "2026-03-02T10:00:07Z", "last_error": "auth: the key is refused" }
    ]))
}

#[tokio::test]
async fn provider_ls_shows_health() {
    let stub = Stub::start([(PROVIDERS, two())]).await;
    let table = "\
NAME     KIND     HEALTH    RATE-LIMITED UNTIL     LAST ERROR
toy      sim      ok        -                      -
runpod   runpod   failing   2026-03-02T10:00:07Z   auth: the key is refused
";
    assert_eq!(stub.run(&["provider", "ls"]).await, said(table));
}

#[tokio::test]
async fn doctor_is_content_when_all_is_well() {
    let stub = Stub::start([
        ("GET /healthz", ok()),
        ("GET /readyz", ok()),
        (PROVIDERS, list(&json!([{ "name": "toy", "health": "ok" }]))),
        (DEPLOYMENTS, list(&json!([]))),
    ])
    .await;
    let table = "\
CHECK          RESULT   DETAIL
server         ok       -
ready          ok       -
token          ok       -
provider toy   ok       -
";
    assert_eq!(stub.run(&["doctor"]).await, said(table));
}

#[tokio::test]
async fn doctor_misses_docker_only_where_something_is_to_run_there() {
    let docker = json!({
        "name": "docker", "kind": "docker", "health": "unavailable",
        "last_error": "unavailable: no daemon answers",
    });
    let asked = async |tiers: Value| {
        let deployment = json!({ "name": "m", "spec": { "tiers": tiers } });
        let stub = Stub::start([
            ("GET /healthz", ok()),
            ("GET /readyz", ok()),
            (PROVIDERS, list(&json!([docker]))),
            (DEPLOYMENTS, list(&json!([deployment]))),
        ])
        .await;
        stub.run(&["doctor"]).await
    };
    let ran = asked(json!({ "pod": { "provider": "toy" } })).await;
    let told = "provider docker   ok       not there; no deployment has a local tier\n";
    assert!(ran.code == 0 && ran.out.contains(told), "{}", ran.out);
    let ran = asked(json!({ "local": {} })).await;
    let told = "provider docker   FAILED   unavailable: no daemon answers\n";
    assert!(ran.code == 1 && ran.out.contains(told), "{}", ran.out);
}

#[tokio::test]
async fn doctor_says_which_deployments_of_the_fleet_nobody_could_serve_and_why() {
    let placed = |name: String, provider: &str, warnings: Value| {
        json!({
            "name": name, "status": { "warnings": warnings },
            "spec": { "tiers": { "serverless": { "provider": provider } } },
        })
    };
    let asked = async |deployments: &[Value]| {
        let stub = Stub::start([
            ("GET /healthz", ok()),
            ("GET /readyz", ok()),
            (PROVIDERS, list(&json!([]))),
            (DEPLOYMENTS, list(&json!(deployments))),
        ])
        .await;
        stub.run(&["doctor"]).await
    };
    let served = placed("m".to_owned(), "fleet", json!([]));
    let ran = asked(std::slice::from_ref(&served)).await;
    assert!(
        ran.code == 0 && ran.out.contains("fleet    ok       -\n"),
        "{}",
        ran.out
    );
    let why = "no worker of the fleet has reported yet";
    let mut all = vec![
        served,
        placed("other".to_owned(), "toy", json!(["not its"])),
    ];
    all.extend((1..=5).map(|n| placed(format!("m{n}"), "fleet", json!([why]))));
    let ran = asked(&all).await;
    let told = format!("fleet    FAILED   m1, m2, m3 and 2 more: {why}\n");
    assert!(ran.code == 1 && ran.out.contains(&told), "{}", ran.out);
    assert!(!ran.out.contains("not its"), "{}", ran.out);
}

#[tokio::test]
async fn doctor_tells_of_the_gpus_that_were_found() {
    let of = |gpus: Value, error: Value| {
        let docker = json!({ "name": "docker", "health": "ok", "gpus": gpus, "gpu_error": error });
        [
            ("GET /healthz", ok()),
            ("GET /readyz", ok()),
            (PROVIDERS, list(&json!([docker]))),
            (DEPLOYMENTS, list(&json!([]))),
        ]
    };
    let two = json!([
        { "index": 0, "name": "NVIDIA L4", "total_mib": 23_034, "used_mib": 471, "reserved_mib": 11_264 },
        { "index": 1, "name": "configured", "total_mib": 24_576, "used_mib": null, "reserved_mib": 0 },
    ]);
    let ran = Stub::start(of(two, Value::Null))
        .await
        .run(&["doctor"])
        .await;
    let table = "\
CHECK             RESULT   DETAIL
server            ok       -
ready             ok       -
token             ok       -
provider docker   ok       -
gpu 0             ok       NVIDIA L4: 22.5 GiB, used 0.5 GiB, reserved 11.0 GiB
gpu 1             ok       configured: 24.0 GiB, used not told, reserved 0.0 GiB
";
    assert_eq!(ran, said(table));
    let none = Stub::start(of(json!([]), Value::Null)).await;
    assert!(
        none.run(&["doctor"])
            .await
            .out
            .contains("gpus              ok       none found\n")
    );
    let broken = Stub::start(of(json!([]), json!("NVML did not answer in time"))).await;
    let ran = broken.run(&["doctor"]).await;
    assert!(
        ran.out
            .contains("gpus              FAILED   NVML did not answer in time\n"),
        "{}",
        ran.out
    );
    assert_eq!(ran.code, 1);
}

#[tokio::test]
async fn doctor_says_what_would_go_on_without_the_server() {
    let provider = |name: &str, usd: f64| json!({ "name": name, "health": "ok", "committed_usd_per_hour": usd });
    let stub = Stub::start([
        ("GET /healthz", ok()),
        ("GET /readyz", ok()),
        (
            PROVIDERS,
            list(&json!([provider("a", 1.2), provider("b", 0.3)])),
        ),
        (DEPLOYMENTS, list(&json!([]))),
    ])
    .await;
    let ran = stub.run(&["doctor"]).await;
    let told = "$1.50 an hour goes on until somebody deletes it if this server never comes back";
    assert!(ran.out.contains(told), "{}", ran.out);
    let mut mortal = provider("toy", 1.2);
    mortal["max_absence_s"] = json!(86_400);
    let stub = Stub::start([
        ("GET /healthz", ok()),
        ("GET /readyz", ok()),
        (PROVIDERS, list(&json!([mortal, provider("b", 0.0)]))),
        (DEPLOYMENTS, list(&json!([]))),
    ])
    .await;
    let ran = stub.run(&["doctor"]).await;
    let told = "exposure toy   ok       $1.20 an hour goes on for 24h, $28.80 in all";
    assert!(ran.out.contains(told), "{}", ran.out);
    assert!(!ran.out.contains("until somebody deletes it"));
}

#[tokio::test]
async fn doctor_names_all_that_is_wrong() {
    let stub = Stub::start([
        ("GET /healthz", ok()),
        ("GET /readyz", problem(503, "draining")),
        (PROVIDERS, two()),
        (DEPLOYMENTS, list(&json!([]))),
    ])
    .await;
    let ran = stub.run(&["doctor"]).await;
    assert_eq!(ran.code, 1);
    assert!(
        ran.out
            .contains("ready             FAILED   draining (request r1)\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("provider runpod   FAILED   auth: the key is refused\n"),
        "{}",
        ran.out
    );
    assert_eq!(ran.err, "error: 2 of 5 checks failed\n");
}

#[tokio::test]
async fn doctor_sees_a_token_that_is_not_accepted() {
    let stub = Stub::start([
        ("GET /healthz", ok()),
        ("GET /readyz", ok()),
        (PROVIDERS, problem(401, "no")),
    ])
    .await;
    let ran = stub.run(&["doctor", "-o", "json"]).await;
    let checks: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(checks[2]["check"], "token");
    assert_eq!(checks[2]["ok"], false);
    assert_eq!(ran.code, 1);
}

#[tokio::test]
async fn doctor_stops_at_a_server_that_is_not_there() {
    let ran = run("http://127.0.0.1:1", &["doctor"], &[]).await;
    assert!(
        ran.out
            .contains("server   FAILED   cannot reach the server at http://127.0.0.1:1/;"),
        "{}",
        ran.out
    );
    assert_eq!(
        (ran.code, ran.err),
        (1, failed(1, "error: 1 of 1 checks failed\n").err)
    );
}
