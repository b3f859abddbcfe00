//! Which deployment a request is for: each way to name one, and their order.

use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reply};
use thermocline_support::client::Response;
use thermocline_support::system::{Setup, System};

/// Deployments `a`, `b` and `c`, each of which answers with its name.
struct Three {
    system: System,
    backends: Vec<FakeBackend>,
}

impl Three {
    async fn start() -> Three {
        let mut setup = Setup::new();
        setup.base_domain = "models.test".to_owned();
        let system = setup.start().await;
        let mut backends = Vec::new();
        for name in ["a", "b", "c"] {
            let backend = FakeBackend::start(Reply::ok(name)).await;
            let spec = json!({
                "name": name,
                "tiers": { "dedicated": { "url": backend.url() } },
                "routes": { "hosts": [format!("{name}.example.com")], "aliases": [format!("{name}-turbo")] },
            });
            system.admin.deploy(spec).await;
            backends.push(backend);
        }
        Three { system, backends }
    }

    async fn ask(&self, target: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut client = self.system.client().await;
        let mut request = client.request("POST", target);
        for (name, value) in headers {
            request = request.header(name.to_string(), value.to_string());
        }
        request.body(body.to_owned()).send().await.unwrap()
    }

    async fn answers(&self, target: &str, headers: &[(&str, &str)], body: &str) -> String {
        let response = self.ask(target, headers, body).await;
        match response.status {
            200 => response.text(),
            status => status.to_string(),
        }
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn each_way_names_a_deployment() {
    let three = Three::start().await;
    for header in ["x-thermocline-deployment", "x-gateway-model-name"] {
        assert_eq!(three.answers("/x", &[(header, "b")], "").await, "b");
        assert_eq!(three.answers("/x", &[(header, "b-turbo")], "").await, "b");
    }
    for host in ["b.example.com", "b.models.test", "b-turbo.models.test"] {
        assert_eq!(
            three.answers("/x", &[("host", host)], "").await,
            "b",
            "{host}"
        );
    }
    for path in ["/d/b", "/d/b/", "/d/b/x?y=1", "/d/b-turbo/x"] {
        assert_eq!(three.answers(path, &[], "").await, "b", "{path}");
    }
    let body = r#"{"model":"b","prompt":"hi"}"#;
    assert_eq!(
        three.answers("/v1/chat/completions", &[JSON], body).await,
        "b"
    );
    let charset = ("content-type", "application/json; charset=utf-8");
    let aliased = r#"{"model":"b-turbo"}"#;
    assert_eq!(
        three.answers("/v1/completions", &[charset], aliased).await,
        "b"
    );
}

#[tokio::test]
async fn the_first_that_names_one_wins() {
    let three = Three::start().await;
    let header = ("x-thermocline-deployment", "a");
    let host = ("host", "b.example.com");
    let body = r#"{"model":"a"}"#;
    assert_eq!(three.answers("/d/c/x", &[header, host], "").await, "a");
    assert_eq!(three.answers("/d/c/x", &[host], "").await, "b");
    assert_eq!(three.answers("/v1/x", &[host, JSON], body).await, "b");
    assert_eq!(three.answers("/d/c/v1/x", &[JSON], body).await, "c");
    let both = [("x-gateway-model-name", "b"), header];
    assert_eq!(three.answers("/x", &both, "").await, "a");
}

#[tokio::test]
async fn a_name_that_is_unknown_is_not_looked_for_elsewhere() {
    let three = Three::start().await;
    let header = ("x-thermocline-deployment", "nobody");
    assert_eq!(three.answers("/d/c/x", &[header], "").await, "404");
    assert_eq!(three.answers("/d/nobody/x", &[], "").await, "404");
    assert_eq!(
        three.answers("/x", &[("host", "b.other.test")], "").await,
        "404"
    );
    assert_eq!(
        three
            .answers("/v1/x", &[JSON], r#"{"model":"nobody"}"#)
            .await,
        "404"
    );
    assert_eq!(three.answers("/v1/x", &[JSON], "no json").await, "404");
    assert_eq!(three.answers("/v1/x", &[JSON], "{}").await, "404");
    assert!(three.backends.iter().all(|b| b.seen().requests.is_empty()));
}

#[tokio::test]
async fn the_prefix_is_taken_off_and_said() {
    let three = Three::start().await;
    three.answers("/d/c/deep/path?q=%2F1", &[], "").await;
    three.answers("/d/c", &[], "").await;
    three.answers("/d/c?q", &[], "").await;
    let seen = three.backends[2].seen();
    let targets: Vec<&str> = seen
        .requests
        .iter()
        .map(|r| &r.request.head.target[..])
        .collect();
    assert_eq!(targets, ["/deep/path?q=%2F1", "/", "/?q"]);
    assert!(
        seen.requests
            .iter()
            .all(|r| r.header("x-forwarded-prefix") == Some("/d/c"))
    );
}

#[tokio::test]
async fn a_body_that_names_its_model_is_passed_on_byte_for_byte() {
    let three = Three::start().await;
    let body = format!(
        "{{ \"prompt\" : \"{}\",\n \"model\":\"b\" }}\n",
        "ü".repeat(1 << 20)
    );
    assert_eq!(
        three.answers("/v1/chat/completions", &[JSON], &body).await,
        "b"
    );
    let seen = three.backends[1].seen();
    assert_eq!(seen.requests[0].body_bytes, body.len() as u64);
    let expected = thermocline_support::http1::sha256_hex([body.into()]);
    assert_eq!(seen.requests[0].body_sha256, Some(expected));
}

#[tokio::test]
async fn a_body_larger_than_16_mib_is_not_read_for_its_model() {
    let three = Three::start().await;
    let mut client = three.system.client().await;
    let request = client.request("POST", "/v1/x").header(JSON.0, JSON.1);
    let response = request.pattern((16 << 20) + 1, false).send().await.unwrap();
    assert_eq!(response.status, 413);
    let error: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(error["error"]["code"], "body_too_large");
}

#[tokio::test]
async fn an_absolute_target_wins_over_host() {
    let three = Three::start().await;
    let host = ("host", "a.example.com");
    let target = "http://b.example.com:8080/deep?q";
    assert_eq!(three.answers(target, &[host], "").await, "b");
    let seen = three.backends[1].seen();
    assert_eq!(seen.requests[0].request.head.target, "/deep?q");
    assert_eq!(seen.requests[0].header("host"), Some("b.example.com:8080"));
}
