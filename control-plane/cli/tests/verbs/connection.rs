use serde_json::json;
use tokio::net::TcpListener;

use crate::stub::{Stub, failed, json_reply, list, problem, raw, run, said};

const PS: &str = "GET /api/v1/deployments";

#[tokio::test]
async fn nobody_at_the_address_is_said_plainly() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let message =
        format!("error: cannot reach the server at {url}/; is `thermocline serve` running?\n");
    assert_eq!(run(&url, &["ps"], &[]).await, failed(1, &message));
}

#[tokio::test]
async fn the_token_is_sent_from_the_flag_or_the_environment() {
    let stub = Stub::start([(PS, list(&json!([])))]).await;
    stub.run(&["ps", "--token", "from-flag"]).await;
    run(&stub.url, &["ps"], &[("THERMOCLINE_TOKEN", "from-env\n")]).await;
    run(&stub.url, &["ps"], &[("THERMOCLINE_TOKEN", "")]).await;
    let calls = stub.calls();
    let sent: Vec<_> = calls
        .iter()
        .map(|call| call.header("authorization"))
        .collect();
    assert_eq!(
        sent,
        [Some("Bearer from-flag"), Some("Bearer from-env"), None]
    );
}

/// A shell script that exports what it has nothing for ends no verb.
#[tokio::test]
async fn an_empty_variable_counts_as_unset() {
    let ran = run("", &["completions", "bash"], &[]).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ran = run("", &["worker"], &[("THERMOCLINE_WORKER_NAME", "")]).await;
    assert!(!ran.err.contains("a value is required"), "{}", ran.err);
    assert!(!ran.err.contains("invalid value"), "{}", ran.err);
    let ran = run("nonsense", &["ps"], &[]).await;
    assert_eq!(ran.code, 2, "what is set must be an address: {ran:?}");
}

#[tokio::test]
async fn a_token_is_never_printed() {
    let secret = [("THERMOCLINE_TOKEN", "s3cret\u{1}")];
    for args in [&["--help"][..], &["ps"], &["ps", "--help"]] {
        let ran = run("http://127.0.0.1:1", args, &secret).await;
        assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
    }
}

#[tokio::test]
async fn a_missing_or_wrong_token_says_what_to_set() {
    let stub = Stub::start([(PS, problem(401, "no token"))]).await;
    let message =
        "error: the server does not accept this token; set --token or THERMOCLINE_TOKEN\n";
    assert_eq!(stub.run(&["ps"]).await, failed(3, message));
}

#[tokio::test]
async fn a_problem_is_told_by_its_detail_and_its_exit_code() {
    let codes = [(400, 2), (403, 3), (404, 4), (409, 3), (429, 1), (408, 5)];
    for (status, code) in codes {
        let stub = Stub::start([(PS, problem(status, "because"))]).await;
        assert_eq!(
            stub.run(&["ps"]).await,
            failed(code, "error: because\n"),
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_fault_of_the_server_carries_the_request_to_look_for() {
    let stub = Stub::start([(PS, problem(500, "it broke"))]).await;
    assert_eq!(
        stub.run(&["ps"]).await,
        failed(1, "error: it broke (request r1)\n")
    );
}

#[tokio::test]
async fn a_page_of_something_in_between_is_not_shown() {
    let stub = Stub::start([(PS, raw(502, "text/html", "<html>nginx</html>"))]).await;
    let ran = stub.run(&["ps"]).await;
    assert_eq!(
        ran,
        failed(1, "error: the server answered 502 Bad Gateway\n")
    );
}

#[tokio::test]
async fn an_answer_of_another_service_is_recognised() {
    let message =
        |url: &str| format!("error: {url}/ does not answer as an admin plane of this version\n");
    for reply in [
        raw(200, "text/html", "<html>"),
        json_reply(200, &json!({"items": [{"a": 1}]})),
    ] {
        let stub = Stub::start([(PS, reply)]).await;
        assert_eq!(stub.run(&["ps"]).await, failed(1, &message(&stub.url)));
    }
    let stub = Stub::start([(PS, raw(404, "text/html", "<html>"))]).await;
    assert_eq!(
        stub.run(&["ps"]).await,
        failed(1, "error: the server answered 404 Not Found\n")
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_token() {
    let stub = Stub::start([(PS, raw(302, "text/plain", ""))]).await;
    assert_eq!(
        stub.run(&["ps"]).await,
        failed(1, "error: the server answered 302 Found\n")
    );
}

#[tokio::test]
async fn a_server_behind_a_path_is_reached_there() {
    let stub = Stub::start([("GET /gate/api/v1/deployments", list(&json!([])))]).await;
    let server = format!("{}/gate/", stub.url);
    assert_eq!(
        stub.run(&["ps", "--server", &server, "-o", "json"])
            .await
            .code,
        0
    );
}

#[tokio::test]
async fn a_wrong_command_line_is_usage() {
    let lines: [&[&str]; 7] = [
        &["psst"],
        &["deploy"],
        &["describe", ".."],
        &["force", "sdxl", "--tier", "podd"],
        &["force", "sdxl", "--tier", "pod", "--for", "20"],
        &["ps", "--server", "localhost:8081"],
        &["ps", "-o", "xml"],
    ];
    for line in lines {
        let ran = run("http://127.0.0.1:1", line, &[]).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line:?}");
    }
    let ran = run(
        "http://127.0.0.1:1",
        &["force", "sdxl", "--tier", "podd"],
        &[],
    )
    .await;
    assert!(
        ran.err
            .contains("[possible values: dedicated, local, serverless, pod]"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn completions_need_no_server() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run("http://127.0.0.1:1", &["completions", shell], &[]).await;
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("unforce"), "{shell}");
    }
}

#[tokio::test]
async fn nothing_that_a_terminal_obeys_comes_through() {
    let stub = Stub::start([(PS, problem(409, "a\u{1b}[2Jb"))]).await;
    assert_eq!(stub.run(&["ps"]).await, failed(3, "error: a [2Jb\n"));
}

#[tokio::test]
async fn pages_are_followed_to_the_end_but_not_in_a_circle() {
    let page = |next: &str| json_reply(200, &json!({ "items": [], "next": next }));
    let stub = Stub::start([
        (PS, page("c1")),
        ("GET /api/v1/deployments?cursor=c1", page("c2")),
        ("GET /api/v1/deployments?cursor=c2", list(&json!([]))),
    ])
    .await;
    let whole = "{\n  \"items\": [],\n  \"next\": null\n}\n";
    assert_eq!(stub.run(&["ps", "-o", "json"]).await.out, said(whole).out);
    assert_eq!(stub.calls().len(), 3);
    let circle = Stub::start([
        (PS, page("c1")),
        ("GET /api/v1/deployments?cursor=c1", page("c1")),
    ])
    .await;
    assert_eq!(circle.run(&["ps"]).await.code, 1);
}
