use serde_json::json;

use crate::stub::{Stub, deployment, failed, json_reply, list, on_a_pod, problem, raw, said};

const PS: &str = "GET /api/v1/deployments";

#[tokio::test]
async fn ps_shows_a_line_for_each_deployment() {
    let stub = Stub::start([(
        PS,
        list(&json!([on_a_pod("sdxl"), deployment("whisper", "idle")])),
    )])
    .await;
    let table = "\
NAME      STATE     TIER   REASON     RPS    IN-FLIGHT   WAITING   INSTANCES   $/H
sdxl      running   pod    pod_warm   0.24   2           1         1           1.20
whisper   idle      -      -          0.00   0           0         0           -
";
    assert_eq!(stub.run(&["ps"]).await, said(table));
}

#[tokio::test]
async fn ps_of_nothing_leaves_stdout_to_scripts() {
    let stub = Stub::start([(PS, list(&json!([])))]).await;
    let ran = stub.run(&["ps"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(
        ran.err,
        "no deployments; `thermocline deploy FILE` makes some\n"
    );
}

#[tokio::test]
async fn json_and_yaml_are_the_servers_own() {
    let body = r#"{"name":"z","generation":1,"created_at":null,"updated_at":null,"spec":{"z":1,"a":0.2},
        "status":{"state":"idle","tier":null,"reason":null,"rps":0,"in_flight":0,"waiting":0,"instances":[],"more":[1]}}"#;
    let stub = Stub::start([
        (
            "GET /api/v1/deployments/z",
            raw(200, "application/json", body),
        ),
        (
            "GET /api/v1/deployments/z/decisions?limit=5",
            list(&json!([])),
        ),
    ])
    .await;
    let json = stub.run(&["describe", "z", "-o", "json"]).await;
    assert_eq!(
        json.out.split_whitespace().collect::<String>(),
        body.split_whitespace().collect::<String>()
    );
    let yaml = stub.run(&["describe", "z", "-o", "yaml"]).await;
    assert!(
        yaml.out.contains("spec:\n  z: 1\n  a: 0.2\n"),
        "{}",
        yaml.out
    );
}

#[tokio::test]
async fn describe_shows_everything_about_one() {
    let decisions = json!([{
        "id": 17, "deployment": "sdxl", "at": "2026-03-02T10:00:59Z", "to": "pod", "reason": "promote",
        "refused": true, "from": "serverless",
        "inputs": {
            "count": 61, "window_s": 300, "rps": 0.2, "promote_count": 60, "demote_count": 15, "observed": true,
            "forced": null, "local": "no GPU", "pod": "absent", "in_flight": 1, "since_transition_s": null
        }
    }]);
    let stub = Stub::start([
        (
            "GET /api/v1/deployments/sdxl",
            json_reply(200, &on_a_pod("sdxl")),
        ),
        (
            "GET /api/v1/deployments/sdxl/decisions?limit=5",
            list(&decisions),
        ),
    ])
    .await;
    let text = "\
Name:        sdxl
State:       running
Tier:        pod
Reason:      pod_warm
Last error:  -
RPS:         0.24
In flight:   2
Waiting:     1
$/hour:      1.20
Budget:      -
Generation:  3
Created:     2026-03-01T10:00:00Z
Updated:     2026-03-02T10:00:00Z

Spec:
  image: acme/sdxl:1.4
  name: sdxl

Instances:
  ID   PROVIDER   TIER   STATE   SINCE                  $/H
  i1   runpod     pod    ready   2026-03-02T10:01:00Z   1.20

Decisions:
  ID   AT                     FROM         TO    REASON
  17   2026-03-02T10:00:59Z   serverless   pod   promote (refused)
";
    assert_eq!(stub.run(&["describe", "sdxl"]).await, said(text));
}

#[tokio::test]
async fn describing_what_does_not_exist_is_not_found() {
    let stub = Stub::start([(
        "GET /api/v1/deployments/nope",
        problem(404, "no deployment is called nope"),
    )])
    .await;
    assert_eq!(
        stub.run(&["describe", "nope"]).await,
        failed(4, "error: no deployment is called nope\n")
    );
}
