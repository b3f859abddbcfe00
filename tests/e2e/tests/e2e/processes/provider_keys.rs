//! B46: clouds that refuse, repeat the key in what they say, redirect, or cannot
//! be reached: the key and what a deployment is told in confidence are nowhere.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_support::backend::{FakeBackend, Reply, Request, ReservedBackend, Script};
use thermocline_support::process::{Server, Setup};

use super::evidence::Evidence;

const KEY: &str = "SENTINEL-KEY";
const ENV: &str = "SENTINEL-ENV";
const ANSWERS: [u16; 7] = [302, 400, 401, 404, 429, 500, 503];
const KINDS: [(&str, &str, &str); 2] = [
    ("runpod", "RUNPOD_API_KEY", "api_url"),
    ("vast", "VAST_API_KEY", "base_url"),
];

/// Answers with the status that the path begins with, and repeats the key in
/// every field that an error may have.
fn repeat(request: &Request) -> Reply {
    let status = request.path().split('/').nth(1).unwrap_or_default();
    let given = request.header("authorization").unwrap_or_default();
    let said = json!({ "detail": given, "errors": [given], "error": given, "msg": given });
    let reply = Reply::new(status.parse().unwrap_or(500)).body(said.to_string());
    let reply = reply.header("content-type", "application/json");
    reply.header("location", "http://127.0.0.1:1/elsewhere")
}

/// Every way in which a cloud fails, as the URL that leads there, by name.
fn ways(backend: &FakeBackend, closed: &ReservedBackend) -> Vec<(String, String)> {
    let answers = ANSWERS.map(|status| (status.to_string(), format!("{}/{status}", backend.url())));
    let mut ways = answers.to_vec();
    ways.push(("refused".to_owned(), closed.url()));
    ways.push(("tls".to_owned(), backend.url().replace("http:", "https:")));
    ways
}

fn setup(ways: &[(String, String)]) -> Setup {
    let mut setup = Setup::new().env("THERMOCLINE_LOG", "trace");
    for (kind, variable, url_key) in KINDS {
        setup = setup.env(variable, KEY);
        for (way, url) in ways {
            let section =
                format!("[providers.{kind}-{way}]\nkind = \"{kind}\"\n{url_key} = \"{url}\"\n");
            setup = setup.config(&section);
        }
    }
    setup
}

/// What people read, and where.
type Texts = Vec<(String, String)>;

async fn call(server: &Server, method: Method, path: &str, body: Option<&Value>) -> (u16, String) {
    let (status, body) = server.admin.call(method, path, body).await;
    (status.as_u16(), body.to_string())
}

/// Asks one provider for prices and for an instance.
async fn used(server: &Server, name: String) -> Texts {
    let mut texts = Texts::new();
    let offers = format!("/providers/{name}/offers?tier=pod");
    let (status, text) = call(server, Method::GET, &offers, None).await;
    assert_ne!(status, 200, "{name}");
    texts.push((offers, text));
    let spec = json!({
        "image": "i", "env": { "HF_TOKEN": { "secret": "hf" } },
        "tiers": { "pod": { "provider": name } },
        "health": { "start_timeout": "1s" }, "cold_start": { "max_wait": "2s" },
    });
    let path = format!("/deployments/{name}");
    let (status, text) = call(server, Method::PUT, &path, Some(&spec)).await;
    assert_eq!(status, 201, "{name}: {text}");
    texts.push((path.clone(), text));
    let mut client = server.client().await;
    let target = format!("/d/{name}/x");
    let answer = client.request("GET", &target).send().await.unwrap();
    assert!(answer.status >= 429, "{name}: {}", answer.status);
    texts.push((target, answer.text()));
    for path in [format!("{path}/decision"), path] {
        let (_, text) = call(server, Method::GET, &path, None).await;
        texts.push((path, text));
    }
    texts
}

async fn everywhere(server: &Server) -> Texts {
    let mut texts = Texts::new();
    for path in ["/providers", "/instances", "/secrets", "/costs"] {
        let (_, text) = call(server, Method::GET, path, None).await;
        texts.push((path.to_owned(), text));
    }
    for verb in ["events", "ps", "doctor", "cost"] {
        let ran = server.run(&[verb]).await;
        texts.push((verb.to_owned(), ran.out + &ran.err));
    }
    texts.push(("/metrics".to_owned(), server.admin.metrics().await));
    texts.push(("the log".to_owned(), server.stderr()));
    texts
}

#[tokio::test]
async fn b46_a_providers_key_is_in_no_text_whatever_the_provider_says() {
    let open = ReservedBackend::bind().unwrap();
    let backend = open
        .open(Script::from_fn(repeat), &Clock::system())
        .unwrap();
    let closed = ReservedBackend::bind().unwrap();
    let ways = ways(&backend, &closed);
    let server = setup(&ways).start().await;
    let secret = json!({ "value": ENV });
    let (put, _) = call(&server, Method::PUT, "/secrets/hf", Some(&secret)).await;
    assert_eq!(put, 201);
    let names = KINDS
        .iter()
        .flat_map(|(kind, _, _)| ways.iter().map(move |(way, _)| format!("{kind}-{way}")));
    let all = join_all(names.map(|name| used(&server, name))).await;
    let mut evidence = Evidence::new(KEY, ENV);
    evidence.seek("where a redirect leads", "/elsewhere");
    let texts = all.into_iter().flatten().chain(everywhere(&server).await);
    texts.for_each(|(place, text)| evidence.keep(&place, text));
    assert!(backend.seen().requests.len() >= KINDS.len() * ANSWERS.len());
    evidence.holds_none();
}
