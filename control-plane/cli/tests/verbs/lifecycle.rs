use serde_json::{Value, json};

use crate::stub::{Ran, Stub, deployment, failed, json_reply, on_a_pod, problem};

const GET: &str = "GET /api/v1/deployments/sdxl";
const WAKE: &str = "POST /api/v1/deployments/sdxl/wake";
const SLEEP: &str = "POST /api/v1/deployments/sdxl/sleep";
const DELETE: &str = "DELETE /api/v1/deployments/sdxl";

fn broken(state: &str, error: &str) -> Value {
    let mut deployment = deployment("sdxl", state);
    deployment["status"]["last_error"] = json!(error);
    deployment
}

fn ran(code: i32, out: &str, err: &str) -> Ran {
    Ran {
        code,
        out: out.to_owned(),
        err: err.to_owned(),
    }
}

#[tokio::test]
async fn wake_waits_until_it_runs() {
    let stub = Stub::start([
        (WAKE, json_reply(202, &deployment("sdxl", "starting"))),
        (GET, json_reply(200, &deployment("sdxl", "starting"))),
        (GET, json_reply(200, &on_a_pod("sdxl"))),
    ])
    .await;
    let told = "sdxl: starting\nsdxl: running\n";
    assert_eq!(
        stub.run(&["wake", "sdxl"]).await,
        ran(0, "sdxl is running on pod\n", told)
    );
}

#[tokio::test]
async fn wake_tells_why_it_failed() {
    let stub = Stub::start([
        (WAKE, json_reply(202, &deployment("sdxl", "starting"))),
        (GET, json_reply(200, &broken("failed", "exit code 1"))),
    ])
    .await;
    let told = "sdxl: failed (exit code 1)\nerror: sdxl is failed: exit code 1\n";
    assert_eq!(stub.run(&["wake", "sdxl"]).await, ran(1, "", told));
}

#[tokio::test]
async fn wake_gives_up_in_time() {
    let stub = Stub::start([
        (WAKE, json_reply(202, &deployment("sdxl", "starting"))),
        (GET, json_reply(200, &deployment("sdxl", "starting"))),
    ])
    .await;
    let told =
        "sdxl: starting\nerror: sdxl is not running after 1ms; last seen as sdxl: starting\n";
    assert_eq!(
        stub.run(&["wake", "sdxl", "--timeout", "1ms"]).await,
        ran(5, "", told)
    );
}

#[tokio::test]
async fn wake_need_not_wait() {
    let stub = Stub::start([(WAKE, json_reply(202, &deployment("sdxl", "starting")))]).await;
    assert_eq!(
        stub.run(&["wake", "sdxl", "--no-wait"]).await,
        ran(0, "sdxl: asked to wake\n", "")
    );
    let json = stub.run(&["wake", "sdxl", "--no-wait", "-o", "json"]).await;
    assert_eq!(
        serde_json::from_str::<Value>(&json.out).unwrap(),
        deployment("sdxl", "starting")
    );
}

#[tokio::test]
async fn sleep_waits_until_it_is_stopped() {
    let stub = Stub::start([
        (SLEEP, json_reply(202, &deployment("sdxl", "draining"))),
        (GET, json_reply(200, &deployment("sdxl", "draining"))),
        (GET, json_reply(200, &deployment("sdxl", "stopped"))),
    ])
    .await;
    let told = "sdxl: draining\nsdxl: stopped\n";
    assert_eq!(
        stub.run(&["sleep", "sdxl"]).await,
        ran(0, "sdxl is stopped\n", told)
    );
}

#[tokio::test]
async fn delete_says_what_goes_and_waits_until_it_is_gone() {
    let stub = Stub::start([
        (GET, json_reply(200, &on_a_pod("sdxl"))),
        (DELETE, json_reply(202, &deployment("sdxl", "deleting"))),
        (GET, json_reply(200, &deployment("sdxl", "deleting"))),
        (GET, problem(404, "no deployment is called sdxl")),
    ])
    .await;
    let told = "deleting sdxl: pod i1 at runpod\nsdxl: deleting\n";
    assert_eq!(
        stub.run(&["delete", "sdxl"]).await,
        ran(0, "sdxl deleted\n", told)
    );
}

#[tokio::test]
async fn delete_tells_what_stands_in_the_way() {
    let stub = Stub::start([
        (GET, json_reply(200, &deployment("sdxl", "idle"))),
        (DELETE, json_reply(202, &deployment("sdxl", "deleting"))),
        (
            GET,
            json_reply(200, &broken("deleting", "runpod is unavailable")),
        ),
    ])
    .await;
    let told = "deleting sdxl: nothing runs for it\nsdxl: deleting (runpod is unavailable)\n\
        error: sdxl is not deleted after 1ms; last seen as sdxl: deleting (runpod is unavailable)\n";
    assert_eq!(
        stub.run(&["delete", "sdxl", "--timeout", "1ms"]).await,
        ran(5, "", told)
    );
}

#[tokio::test]
async fn deleting_what_does_not_exist_is_not_found() {
    let stub = Stub::start([(GET, problem(404, "no deployment is called sdxl"))]).await;
    assert_eq!(
        stub.run(&["delete", "sdxl"]).await,
        failed(4, "error: no deployment is called sdxl\n")
    );
    assert_eq!(stub.lines(), [GET]);
}
