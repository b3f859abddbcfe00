//! What the console stands on: its files, sessions, and what it is told live.

use serde_json::{Value, json};
use thermocline_support::client::{Ended, RawClient, Response};

use crate::scene::{SECOND, Scene, bearer, both_tiers, ok, pod, secs, two_and_one};

async fn call(scene: &Scene, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut client = RawClient::connect(scene.system.admin.address)
        .await
        .unwrap();
    let mut request = client.request(method, path);
    for (name, value) in headers {
        request = request.header((*name).to_owned(), (*value).to_owned());
    }
    request.send().await.unwrap()
}

/// A browser's cookie after its login.
async fn log_in(scene: &Scene) -> String {
    let token = bearer();
    let path = "/api/v1/session";
    let opened = call(scene, "POST", path, &[("authorization", &token)]).await;
    assert_eq!(opened.status, 201);
    let cookie = opened.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// A stream of events; its head is read.
async fn listen(scene: &Scene, path: &str) -> RawClient {
    let mut client = RawClient::connect(scene.system.admin.address)
        .await
        .unwrap();
    let request = client.request("GET", path);
    let request = request.header("authorization", bearer());
    request.send_head().await.unwrap();
    assert_eq!(client.read_head().await.unwrap().status, 200);
    client
}

/// The next body of an event of that kind.
async fn next(client: &mut RawClient, event: &str) -> Value {
    let mark = match event {
        "message" => "data: ".to_owned(),
        event => format!("event: {event}\ndata: "),
    };
    loop {
        let chunk = client.read_chunk().await.unwrap().expect("more comes");
        let text = String::from_utf8_lossy(&chunk.bytes).into_owned();
        if let Some(data) = text.strip_prefix(&mark) {
            return serde_json::from_str(data.trim_end()).unwrap();
        }
    }
}

#[tokio::test]
async fn a_session_stands_for_the_token_over_restarts_and_until_it_is_closed() {
    let scene = Scene::new(ok()).await;
    let cookie = log_in(&scene).await;
    let scene = scene.crash(SECOND).await;
    let headers = [("cookie", cookie.as_str())];
    let read = call(&scene, "GET", "/api/v1/deployments", &headers).await;
    assert_eq!(read.status, 200);
    let here = format!("http://{}", scene.system.admin.address);
    let ours = [("cookie", cookie.as_str()), ("origin", here.as_str())];
    let closed = call(&scene, "DELETE", "/api/v1/session", &ours).await;
    assert_eq!(closed.status, 204);
    let after = call(&scene, "GET", "/api/v1/deployments", &headers).await;
    assert_eq!(after.status, 401);
}

#[tokio::test]
async fn a_session_ends_after_a_week() {
    let scene = Scene::new(ok()).await;
    let cookie = log_in(&scene).await;
    scene.time.advance(secs(7 * 24 * 3600));
    let headers = [("cookie", cookie.as_str())];
    let read = call(&scene, "GET", "/api/v1/deployments", &headers).await;
    assert_eq!(read.status, 401);
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing_with_the_cookie() {
    let scene = Scene::new(ok()).await;
    let cookie = log_in(&scene).await;
    let here = format!("http://{}", scene.system.admin.address);
    let requests = format!("http://{}", scene.system.request);
    let path = "/api/v1/deployments/none";
    for (method, origin, status) in [
        ("DELETE", None, 403),
        ("DELETE", Some("null"), 403),
        ("DELETE", Some(requests.as_str()), 403),
        ("PUT", Some("https://evil.example"), 403),
        ("DELETE", Some(here.as_str()), 404),
        ("GET", Some("https://evil.example"), 404),
    ] {
        let mut headers = vec![("cookie", cookie.as_str())];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let answer = call(&scene, method, path, &headers).await;
        assert_eq!(answer.status, status, "{method} from {origin:?}");
    }
}

#[tokio::test]
async fn the_console_is_open_to_all_and_may_run_nothing_but_its_own() {
    let scene = Scene::new(ok()).await;
    let page = call(&scene, "GET", "/console/", &[]).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(page.text().contains("<title>Thermocline</title>"));
    let root = call(&scene, "GET", "/", &[]).await;
    assert_eq!(
        (root.status, root.header("location")),
        (307, Some("/console/"))
    );
    let nothing = call(&scene, "GET", "/console/../../Cargo.toml", &[]).await;
    assert_eq!(nothing.status, 404);
}

#[tokio::test]
async fn gauges_are_told_each_second_first_all_then_what_has_changed() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let mut client = listen(&scene, "/api/v1/events?gauges=true").await;
    let first = next(&mut client, "gauges").await;
    assert_eq!(
        (&first["all"], &first["items"][0]["name"]),
        (&json!(true), &json!("m"))
    );
    assert_eq!(first["items"][0]["state"], "idle");
    scene.step(SECOND).await;
    let quiet = next(&mut client, "gauges").await;
    assert_eq!(
        (&quiet["all"], &quiet["items"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(scene.get().await.status, 200);
    scene.step(SECOND).await;
    let running = next(&mut client, "gauges").await;
    assert_eq!(running["items"][0]["state"], "running");
    assert_eq!(running["items"][0]["tier"], "pod");
}

#[tokio::test]
async fn a_chart_has_the_rate_and_the_tier_over_time_and_rest_takes_no_room() {
    let scene = Scene::new(ok()).await;
    scene.deploy(both_tiers(), two_and_one()).await;
    scene.pass(secs(60)).await;
    for _ in 0..5 {
        assert_eq!(scene.get().await.status, 200);
    }
    scene.pass(secs(10)).await;
    let path = "/deployments/m/series";
    let (_, series) = scene.admin(reqwest::Method::GET, path).await;
    let points = &series["points"];
    let rates: Vec<f64> = serde_json::from_value(points["rps"].clone()).unwrap();
    assert!((2..=10).contains(&rates.len()), "{rates:?}");
    assert_eq!(rates[0], 0.0);
    assert!(
        (rates[rates.len() - 1] - 5.0 / 300.0).abs() < 1e-3,
        "{rates:?}"
    );
    assert_eq!(points["tier"][0], Value::Null);
    assert_eq!(points["tier"][rates.len() - 1], "serverless");
    let ended: Vec<u64> = serde_json::from_value(points["ended"].clone()).unwrap();
    assert_eq!(ended.iter().sum::<u64>(), 5);
    let (status, bad) = scene
        .admin(reqwest::Method::GET, "/deployments/m/series?from=now")
        .await;
    assert_eq!((status, &bad["code"]), (400, &json!("bad_query")));
}

#[tokio::test]
async fn who_watches_is_told_of_requests_as_they_end() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    let mut client = listen(&scene, "/api/v1/requests?deployment=m").await;
    next(&mut client, "watching").await;
    let mut others = listen(&scene, "/api/v1/requests?deployment=other").await;
    next(&mut others, "watching").await;
    assert_eq!(scene.get().await.status, 200);
    let told = next(&mut client, "message").await;
    assert_eq!(
        (
            &told["deployment"],
            &told["tier"],
            &told["start"],
            &told["outcome"]
        ),
        (&json!("m"), &json!("pod"), &json!("cold"), &json!("ok"))
    );
    assert!(
        told["total_s"].as_f64() >= told["upstream_s"].as_f64(),
        "{told}"
    );
    scene.system.lifecycle.drain.cancel();
    let rest = others.read_body().await.unwrap();
    assert_eq!(rest.bytes, "", "it asked for another deployment");
}

#[tokio::test]
async fn a_cold_start_is_told_part_by_part_up_to_its_first_answer() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene.step(SECOND).await;
    let (_, starts) = scene.admin(reqwest::Method::GET, "/cold-starts").await;
    let start = &starts["items"][0];
    assert_eq!(
        (&start["deployment"], &start["state"]),
        (&json!("m"), &json!("ready"))
    );
    let spans = start["spans"].as_array().unwrap();
    let names: Vec<&Value> = spans.iter().map(|span| &span["name"]).collect();
    assert_eq!(json!(names), json!(["create", "boot", "ready", "answer"]));
}

#[tokio::test]
async fn one_decision_has_an_address_and_all_are_in_one_list() {
    let scene = Scene::new(ok()).await;
    scene.deploy(both_tiers(), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    assert_eq!(scene.system.admin.force("m", "pod").await.0, 200);
    scene
        .until(SECOND, async || !scene.transitions().await.is_empty())
        .await;
    let (_, all) = scene.admin(reqwest::Method::GET, "/decisions").await;
    let newest = &all["items"][0];
    assert_eq!(
        (&newest["deployment"], &newest["to"]),
        (&json!("m"), &json!("pod"))
    );
    let path = format!("/decisions/{}", newest["id"]);
    let (_, one) = scene.admin(reqwest::Method::GET, &path).await;
    assert_eq!(&one, newest);
}

#[tokio::test]
async fn b49_a_tab_that_watches_everything_ends_at_once() {
    let scene = Scene::new(ok()).await;
    let mut gauges = listen(&scene, "/api/v1/events?gauges=true").await;
    let mut requests = listen(&scene, "/api/v1/requests").await;
    next(&mut gauges, "gauges").await;
    next(&mut requests, "watching").await;
    scene.system.lifecycle.drain.cancel();
    for client in [&mut gauges, &mut requests] {
        assert_eq!(client.read_body().await.unwrap().ended, Ended::Clean);
    }
}
