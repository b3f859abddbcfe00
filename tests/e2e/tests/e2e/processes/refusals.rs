//! A server that cannot start says why, in a line that can be acted on.

use std::net::TcpListener;

use thermocline_support::process::Setup;

#[tokio::test]
async fn a_second_server_on_the_same_store_is_refused() {
    let server = Setup::new().start().await;
    let second = server.setup().serve_to_end().await;
    assert_eq!(second.code, 1);
    assert_eq!(
        last(&second.err),
        "error: store.url: another server uses this store"
    );
    assert_eq!(server.admin.open_get("/readyz").await, 200);
}

#[tokio::test]
async fn a_store_is_free_again_after_a_crash() {
    let crashed = Setup::new().start().await.kill().await;
    crashed.start().await;
}

#[tokio::test]
async fn what_is_no_database_is_called_that_and_left_as_it_is() {
    let setup = Setup::new();
    let file = setup.path("notes.db");
    std::fs::write(&file, "not a database, but somebody's notes\n".repeat(100)).unwrap();
    let url = format!("sqlite://{}", file.display());
    let setup = setup.env("THERMOCLINE_STORE__URL", &url);
    let ran = setup.serve_to_end().await;
    assert_eq!(ran.code, 1);
    let line = last(&ran.err);
    assert!(
        line.starts_with("error: store.url: it is no SQLite database, or it is damaged"),
        "{line}"
    );
    let left = std::fs::read_to_string(&file).unwrap();
    assert!(left.starts_with("not a database"));
    use std::os::unix::fs::PermissionsExt as _;
    let lock = std::fs::metadata(setup.path("notes.db.lock")).unwrap();
    assert_eq!(lock.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_backup_that_cannot_be_written_says_why() {
    let server = Setup::new().start().await;
    let ran = server.run(&["backup", "absent/copy.db"]).await;
    assert_eq!(ran.code, 1);
    let line = last(&ran.err);
    assert!(
        line.starts_with("error: the backup cannot be written: "),
        "{line}"
    );
    assert!(line.contains("No such file or directory"), "{line}");
}

#[tokio::test]
async fn a_port_in_use_is_named_with_its_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for (variable, key) in [
        ("THERMOCLINE_REQUEST__LISTEN", "request.listen"),
        ("THERMOCLINE_ADMIN__LISTEN", "admin.listen"),
    ] {
        let setup = Setup::new().env(variable, &address.to_string());
        let ran = setup.serve_to_end().await;
        assert_eq!(ran.code, 1);
        let line = last(&ran.err);
        assert!(
            line.starts_with(&format!("error: {key} {address}: ")),
            "{line}"
        );
        assert!(line.to_lowercase().contains("in use"), "{line}");
    }
}

#[tokio::test]
async fn every_mistake_of_a_file_is_told_at_once_with_what_is_allowed() {
    let file = r#"
        [request]
        auth = "maybe"
        [policy]
        window = 300
        promote_rps = 0.1
        demote_rps = 0.1
        [providers.toy]
        kind = "sim"
        pod_bot = "3s"
        [sotre]
    "#;
    let ran = Setup::new().config(file).serve_to_end().await;
    assert_eq!(ran.code, 2);
    for (key, allowed) in [
        ("request.auth", "open, token"),
        ("policy.window", "unit"),
        ("policy.demote_rps", "below promote_rps"),
        ("providers.toy.pod_bot", "pod_boot"),
        ("sotre", "store"),
    ] {
        let begin = format!("error: thermocline.toml: {key}: ");
        let line = ran.err.lines().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("{key} in\n{}", ran.err));
        assert!(line.contains(allowed), "{line}");
    }
    assert_eq!(ran.err.lines().count(), 5, "{}", ran.err);
}

#[tokio::test]
async fn variables_that_are_not_set_are_told_with_all_the_other_mistakes() {
    let plugin = "kind = \"plugin\"\nurl = \"http://127.0.0.1:9\"";
    let file = format!(
        "policy.promote_rps = nan\n\
         [providers.one]\n{plugin}\ntoken_env = \"NOT_SET_1\"\n\
         [providers.two]\n{plugin}\ntoken_env = \"NOT_SET_2\"\n"
    );
    let ran = Setup::new().config(&file).serve_to_end().await;
    assert_eq!(ran.code, 2);
    let lines: Vec<&str> = ran.err.lines().collect();
    let begin = "error: thermocline.toml: policy.promote_rps: must be a finite number";
    assert!(lines[0].starts_with(begin), "{}", ran.err);
    for (line, (name, variable)) in lines[1..]
        .iter()
        .zip([("one", "NOT_SET_1"), ("two", "NOT_SET_2")])
    {
        let told =
            format!("error: thermocline.toml: providers.{name}.token_env: {variable} is not set");
        assert_eq!(*line, told);
    }
    assert_eq!(lines.len(), 3, "{}", ran.err);
}

#[tokio::test]
async fn a_variable_that_is_wrong_is_named_instead_of_the_file() {
    let setup = Setup::new().env("THERMOCLINE_POLICY__WINDOW", "300");
    let ran = setup.serve_to_end().await;
    assert_eq!(ran.code, 2);
    let begin = "error: THERMOCLINE_POLICY__WINDOW: policy.window: ";
    assert!(last(&ran.err).starts_with(begin), "{}", ran.err);
}

#[tokio::test]
async fn what_is_no_toml_is_refused_with_its_place() {
    let ran = Setup::new().config("[request\n").serve_to_end().await;
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("thermocline.toml") && ran.err.contains("line 1"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn a_file_that_was_named_must_be_there() {
    let setup = Setup::new().arg("--config").arg("nowhere.toml");
    let ran = setup.serve_to_end().await;
    assert_eq!(ran.code, 2);
    assert!(
        last(&ran.err).starts_with("error: nowhere.toml: "),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn an_open_request_plane_stays_on_loopback_unless_a_proxy_is_promised() {
    let everywhere = Setup::new().env("THERMOCLINE_REQUEST__LISTEN", "0.0.0.0:0");
    let refused = everywhere.serve_to_end().await;
    assert_eq!(refused.code, 2);
    assert!(last(&refused.err).contains("--insecure"), "{}", refused.err);
    everywhere.clone().arg("--insecure").start().await;
    everywhere
        .env("THERMOCLINE_REQUEST__AUTH", "token")
        .start()
        .await;
}

fn last(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}
