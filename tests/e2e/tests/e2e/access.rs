//! Who may call what, and that the description says the same.

use std::collections::BTreeSet;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use thermocline_server::{Route, routes};
use thermocline_support::client::RawClient;

use crate::scene::{Scene, bearer, ok};

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

async fn call(scene: &Scene, route: &Route, token: Option<&str>) -> (u16, Value) {
    ask(scene, route, token, "").await
}

async fn ask(scene: &Scene, route: &Route, token: Option<&str>, query: &str) -> (u16, Value) {
    let path = route
        .path
        .replace("{name}", "nothing")
        .replace("{id}", "nothing");
    let url = format!("http://{}{path}{query}", scene.system.admin.address);
    let mut request = client().request(route.method.clone(), url);
    if let Some(token) = token {
        request = request.header("authorization", token);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type");
    let stream = kind.is_some_and(|kind| kind == "text/event-stream");
    let body = if stream {
        String::new()
    } else {
        response.text().await.unwrap()
    };
    (status, serde_json::from_str(&body).unwrap_or_default())
}

#[tokio::test]
async fn nothing_but_health_answers_without_the_token() {
    let scene = Scene::new(ok()).await;
    let near = [
        "Bearer wrong",
        "Bearer",
        "Basic dGVzdC10b2tlbg==",
        "test-token",
        "",
    ];
    for route in routes() {
        for token in near.map(Some).into_iter().chain([None]) {
            let (status, body) = call(&scene, &route, token).await;
            let asked = format!("{} {} {token:?}", route.method, route.path);
            if route.open {
                assert_eq!(status, 200, "{asked}");
            } else {
                assert_eq!(
                    (status, &body["code"]),
                    (401, &json!("unauthorized")),
                    "{asked}"
                );
            }
        }
    }
}

#[tokio::test]
async fn every_route_answers_whoever_has_the_token() {
    let scene = Scene::new(ok()).await;
    for route in routes() {
        let (status, body) = call(&scene, &route, Some(&bearer())).await;
        let there = match status {
            404 => body["detail"] != "there is nothing here",
            status => (200..500).contains(&status) && ![401, 403, 405].contains(&status),
        };
        assert!(there, "{} {}: {status} {body}", route.method, route.path);
    }
}

#[tokio::test]
async fn the_description_has_every_route_and_no_other() {
    let scene = Scene::new(ok()).await;
    let url = format!("http://{}/openapi.json", scene.system.admin.address);
    let request = client().get(url).header("authorization", bearer());
    let text = request.send().await.unwrap().text().await.unwrap();
    let description: Value = serde_json::from_str(&text).unwrap();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let described: BTreeSet<(String, String)> = description["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            let methods =
                methods.filter(|key| key.parse::<Method>().is_ok() && *key != "parameters");
            methods.map(move |method| (method.to_uppercase(), path.clone()))
        })
        .collect();
    let served = routes().into_iter();
    let served = served.map(|r| (r.method.to_string(), r.path.to_owned()));
    assert_eq!(described, served.collect());
}

/// The parameters of a route's query, as the description has them.
fn described_query<'d>(description: &'d Value, route: &Route) -> BTreeSet<&'d str> {
    let item = &description["paths"][route.path];
    let method = &item[route.method.as_str().to_lowercase()];
    let lists = [&item["parameters"], &method["parameters"]];
    let listed = lists
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .map(|parameter| match parameter["$ref"].as_str() {
            Some(reference) => description
                .pointer(reference.trim_start_matches('#'))
                .unwrap(),
            None => parameter,
        });
    let query = listed.filter(|parameter| parameter["in"] == "query");
    query.map(|it| it["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_query_that_nobody_reads_or_understands_is_named_with_what_is_allowed() {
    let scene = Scene::new(ok()).await;
    let text = include_str!("../../../../docs/openapi.json");
    let description: Value = serde_json::from_str(text).unwrap();
    let api = routes()
        .into_iter()
        .filter(|it| it.path.starts_with("/api/"));
    for route in api {
        let asked = format!("{} {}", route.method, route.path);
        let described = described_query(&description, &route);
        assert_eq!(described, route.query.iter().copied().collect(), "{asked}");
        let refused = async |query: &str| {
            let (status, body) = ask(&scene, &route, Some(&bearer()), query).await;
            let detail = body["detail"].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                (status, &body["code"]),
                (400, &json!("bad_query")),
                "{asked}{query}: {body}"
            );
            detail
        };
        let detail = refused("?since=abc").await;
        assert!(detail.starts_with("since: "), "{asked}: {detail}");
        for name in route.query {
            assert!(detail.contains(name), "{asked}: {detail}");
            let twice = refused(&format!("?{name}=1&{name}=1")).await;
            assert_eq!(twice, format!("{name}: must be given once"), "{asked}");
            let detail = refused(&format!("?{name}=!")).await;
            assert!(
                detail.starts_with(&format!("{name}: must be")),
                "{asked}: {detail}"
            );
        }
    }
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    let text = include_str!("../../../../docs/openapi.json");
    let description: Value = serde_json::from_str(text).unwrap();
    let mut left = vec![&description];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(map) => left.extend(map.values()),
            Value::Array(items) => left.extend(items),
            _ => {}
        }
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{reference}");
        }
    }
}

#[tokio::test]
async fn mistakes_in_a_path_or_query_are_problem_documents() {
    let scene = Scene::new(ok()).await;
    for path in [
        "/deployments?limit=many",
        "/deployments/%ff",
        "/deployments?limit=0",
        "/deployments?limit=1001",
        "/deployments/m/decisions?limit=-1",
        "/deployments/m/decisions?cursor=x",
        "/providers/toy/offers?tier=moon",
        "/providers/toy/offers?gpus=two",
        "/fleet/dead-letters?class=bad",
        "/fleet/dead-letters?state=gone",
        "/fleet/dead-letters?group=class",
        "/fleet/dead-letters?limit=501",
    ] {
        let (status, body) = scene.admin(Method::GET, path).await;
        assert_eq!(
            (status, &body["status"]),
            (400, &json!(400)),
            "{path}: {body}"
        );
        let detail = body["detail"].as_str().unwrap();
        if let Some((_, query)) = path.split_once('?') {
            let (name, _) = query.split_once('=').unwrap();
            let told = format!("{name}: must be ");
            assert!(detail.starts_with(&told), "{path}: {detail}");
        }
        for word in ["deserialize", "invalid digit", "variant"] {
            assert!(!detail.contains(word), "{path}: {detail}");
        }
    }
    let (status, body) = scene.admin(Method::GET, "/nothing").await;
    assert_eq!((status, &body["code"]), (404, &json!("not_found")));
    let (status, body) = scene.admin(Method::DELETE, "/deployments").await;
    assert_eq!((status, &body["code"]), (405, &json!("method_not_allowed")));
}

/// The API's page needs no token, loads nothing, and runs nothing.
#[tokio::test]
async fn the_docs_are_a_page_that_stands_by_itself() {
    let scene = Scene::new(ok()).await;
    let address = scene.system.admin.address;
    let mut client = RawClient::connect(address).await.unwrap();
    let page = client.request("GET", "/docs").send().await.unwrap();
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(page.text().contains("PATCH /api/v1/deployments/{name}"));
}
