use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stub::{Ran, Reply, Stub, failed, json_reply, raw, run, said};

const PUT: &str = "PUT /api/v1/deployments";

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn applied(items: &Value) -> Reply {
    json_reply(200, &json!({ "items": items }))
}

async fn deploy(stub: &Stub, files: &[&Path], env: &[(&str, &str)]) -> Ran {
    let mut args = vec!["deploy"];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    run(&stub.url, &args, env).await
}

#[tokio::test]
async fn everything_goes_in_one_call() {
    let files = Files::new();
    let yaml = files.with("a.yaml", "name: a\nimage: 'acme:${TAG}'\n---\nname: b\n");
    let json = files.with("c.json", r#"{"deployments": [{"name": "c", "port": 80}]}"#);
    let stub = Stub::start([(
        PUT,
        applied(&json!([
            { "name": "a", "created": true, "generation": 1, "changes": [] },
            { "name": "b", "created": false, "generation": 4, "changes": ["policy.hold: 0s -> 1m"] },
            { "name": "c", "created": false, "generation": 2, "changes": [] }
        ])),
    )])
    .await;
    let ran = deploy(&stub, &[&yaml, &json], &[("TAG", "1.4")]).await;
    let lines = "a created (generation 1)\nb updated (generation 4)\n  policy.hold: 0s -> 1m\nc unchanged\n";
    assert_eq!(ran, said(lines));
    let calls = stub.calls();
    let items =
        json!([{ "name": "a", "image": "acme:1.4" }, { "name": "b" }, { "name": "c", "port": 80 }]);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].json(), json!({ "items": items, "dry_run": false }));
}

#[tokio::test]
async fn a_dry_run_says_what_would_change() {
    let files = Files::new();
    let file = files.with("a.yaml", "[{name: a}, {name: b}]");
    let answer = json!([
        { "name": "a", "created": true, "generation": 1, "changes": [] },
        { "name": "b", "created": false, "generation": 5, "changes": ["image: x -> y"] }
    ]);
    let stub = Stub::start([(PUT, applied(&answer))]).await;
    let ran = stub
        .run(&["deploy", "--dry-run", file.to_str().unwrap()])
        .await;
    assert_eq!(
        ran,
        said("a would be created\nb would be updated\n  image: x -> y\n")
    );
    assert_eq!(stub.calls()[0].json()["dry_run"], true);
}

#[tokio::test]
async fn b35_the_servers_errors_name_file_deployment_and_field() {
    let files = Files::new();
    let first = files.with("a.yaml", "name: a\n");
    let second = files.with(
        "b.yaml",
        "name: b\npolicy: {promote_rsp: 1}\n---\nname: c\ntiers: {podd: {}}\n",
    );
    let body = json!({
        "title": "Invalid", "status": 400, "detail": "2 fields are invalid", "code": "invalid",
        "errors": [
            { "field": "items[1].policy.promote_rsp", "message": "is unknown; allowed are mode, promote_rps" },
            { "field": "items[2].tiers.podd", "message": "is unknown; allowed are local, pod" }
        ]
    });
    let stub = Stub::start([(PUT, raw(400, "application/problem+json", &body.to_string()))]).await;
    let file = second.display();
    let lines = format!(
        "error: {file}: deployment b: policy.promote_rsp: is unknown; allowed are mode, promote_rps\n\
         error: {file}: deployment c: tiers.podd: is unknown; allowed are local, pod\n"
    );
    assert_eq!(
        deploy(&stub, &[&first, &second], &[]).await,
        failed(2, &lines)
    );
}

#[tokio::test]
async fn b35_mistakes_seen_here_and_by_the_server_are_all_told_and_nothing_is_changed() {
    let files = Files::new();
    let first = files.with(
        "a.yaml",
        "name: a\n---\nname: b\nenv: {TOKEN: '${NOT_SET_ANYWHERE}'}\n",
    );
    let second = files.with("b.yaml", "name: c\nargs: ['${']\n---\n- 3\n");
    let third = files.with("c.yaml", "name: [\n");
    let missing = files.0.path().join("d.yaml");
    let body = json!({ "title": "Invalid", "status": 400, "detail": "3 fields", "code": "invalid", "errors": [
        { "field": "items[0].policy", "message": "is wrong" },
        { "field": "items[1].env.TOKEN", "message": "is null, which has been told" },
    ] });
    let declined = raw(400, "application/problem+json", &body.to_string());
    let stub = Stub::start([(PUT, declined)]).await;
    let ran = deploy(&stub, &[&first, &second, &third, &missing], &[]).await;
    let lines: Vec<_> = ran.err.lines().collect();
    let shown = |file: &Path, rest: &str| format!("error: {}: {rest}", file.display());
    assert_eq!(
        lines[0],
        shown(
            &first,
            "deployment b: env.TOKEN: the environment has no NOT_SET_ANYWHERE"
        )
    );
    assert_eq!(
        lines[1],
        shown(
            &second,
            "deployment c: args[0]: `${` must begin a `${NAME}`; write `$${` for the text itself"
        )
    );
    assert_eq!(
        lines[2],
        shown(&second, "deployment #2: must be a mapping with a name")
    );
    assert!(lines[3].starts_with(&shown(&third, "")), "{}", lines[3]);
    assert!(
        lines[4].starts_with(&shown(&missing, "No such file")),
        "{}",
        lines[4]
    );
    assert_eq!(lines[5], shown(&first, "deployment a: policy: is wrong"));
    assert_eq!((ran.code, lines.len(), stub.calls().len()), (2, 6, 1));
    assert_eq!(stub.calls()[0].json()["dry_run"], true);
}

#[tokio::test]
async fn b35_a_name_may_stand_once_over_all_files() {
    let files = Files::new();
    let first = files.with("a.yaml", "name: a\n");
    let second = files.with("b.yaml", "name: '${NAME}'\n");
    let stub = Stub::start([]).await;
    let ran = deploy(&stub, &[&first, &second], &[("NAME", "a")]).await;
    let line = format!(
        "error: {}: deployment ${{NAME}}: name: a is taken by {}: deployment a\n",
        second.display(),
        first.display()
    );
    assert_eq!(ran, failed(2, &line));
    assert!(
        stub.calls()
            .iter()
            .all(|call| call.json()["dry_run"] == true)
    );
}

#[tokio::test]
async fn json_is_the_servers_answer() {
    let files = Files::new();
    let file = files.with("a.yaml", "name: a\n");
    let items = json!([{ "name": "a", "created": true, "generation": 1, "changes": [] }]);
    let stub = Stub::start([(PUT, applied(&items))]).await;
    let ran = stub
        .run(&["deploy", "-o", "json", file.to_str().unwrap()])
        .await;
    assert_eq!(
        serde_json::from_str::<Value>(&ran.out).unwrap(),
        json!({ "items": items })
    );
}
