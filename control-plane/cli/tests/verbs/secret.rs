use serde_json::json;

use crate::stub::{Stub, failed, json_reply, list, problem, raw, run, said};

const PUT: &str = "PUT /api/v1/secrets/hf";

fn shown() -> serde_json::Value {
    json!({
        "name": "hf", "created_at": "2026-03-01T10:00:00Z",
        "updated_at": "2026-03-02T10:00:00Z", "used_by": ["sdxl", "sd"]
    })
}

#[tokio::test]
async fn a_value_comes_from_a_variable_or_a_file_and_loses_its_line_end() {
    let stub = Stub::start([(PUT, json_reply(201, &shown()))]).await;
    let set = ["secret", "set", "hf", "--from-env", "HF_TOKEN"];
    let ran = run(&stub.url, &set, &[("HF_TOKEN", "hf_Sentinel")]).await;
    assert_eq!(ran, said("hf is set\n"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "two\nlines\r\n").unwrap();
    let path = file.path().to_str().unwrap();
    let ran = stub
        .run(&["secret", "set", "hf", "--from-file", path])
        .await;
    assert_eq!(ran, said("hf is set\n"));
    let calls = stub.calls();
    assert_eq!(calls[0].json(), json!({ "value": "hf_Sentinel" }));
    assert_eq!(calls[1].json(), json!({ "value": "two\nlines" }));
}

#[tokio::test]
async fn a_value_is_never_an_argument_and_never_empty() {
    let stub = Stub::start([]).await;
    let argument = stub.run(&["secret", "set", "hf", "hf_Sentinel"]).await;
    assert_eq!(argument.code, 2);
    let empty = stub.run(&["secret", "set", "hf"]).await;
    assert_eq!(empty.code, 2);
    assert!(empty.err.contains("must not be empty"), "{}", empty.err);
    let unset = ["secret", "set", "hf", "--from-env", "ABSENT_VARIABLE"];
    assert_eq!(
        stub.run(&unset).await,
        failed(2, "error: --from-env: ABSENT_VARIABLE is not set\n")
    );
    let absent = stub
        .run(&["secret", "set", "hf", "--from-file", "absent"])
        .await;
    assert_eq!(absent.code, 2);
    assert!(stub.calls().is_empty());
}

#[tokio::test]
async fn secrets_are_listed_with_who_uses_them() {
    let stub = Stub::start([("GET /api/v1/secrets", list(&json!([shown()])))]).await;
    let expected = "\
NAME   CREATED                UPDATED                USED BY
hf     2026-03-01T10:00:00Z   2026-03-02T10:00:00Z   sdxl, sd
";
    assert_eq!(stub.run(&["secret", "ls"]).await, said(expected));
}

#[tokio::test]
async fn a_secret_in_use_is_not_removed() {
    const DELETE: &str = "DELETE /api/v1/secrets/hf";
    let stub = Stub::start([
        (DELETE, problem(409, "hf is used by sdxl")),
        (DELETE, problem(404, "no such secret")),
        (DELETE, raw(204, "", "")),
    ])
    .await;
    let rm = ["secret", "rm", "hf"];
    assert_eq!(
        stub.run(&rm).await,
        failed(3, "error: hf is used by sdxl\n")
    );
    assert_eq!(stub.run(&rm).await.code, 4);
    assert_eq!(stub.run(&rm).await, said("hf is removed\n"));
}
