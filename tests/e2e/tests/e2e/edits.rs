//! Changing deployments: what is accepted, refused and merged.

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_support::client::RawClient;

use crate::scene::{Scene, bearer, both_tiers, ok, pod};

impl Scene {
    async fn write(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let (status, body) = self.system.admin.call(method, path, Some(&body)).await;
        (status.as_u16(), body)
    }
}

fn fields(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["field"].as_str()).collect()
}

async fn names(scene: &Scene) -> Value {
    let (_, list) = scene.admin(Method::GET, "/deployments").await;
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["name"].clone())
        .collect()
}

#[tokio::test]
async fn b20_a_large_document_gets_a_status_and_not_a_reset() {
    let scene = Scene::new(ok()).await;
    for chunked in [false, true] {
        let address = scene.system.admin.address;
        let mut client = RawClient::connect(address).await.unwrap();
        let request = client.request("POST", "/api/v1/deployments");
        let request = request.header("authorization", bearer());
        let response = request.pattern(5 << 20, chunked).send().await.unwrap();
        assert_eq!(response.status, 413, "chunked: {chunked}");
        let problem: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(problem["code"], "body_too_large");
    }
    assert_eq!(scene.system.admin.open_get("/healthz").await, 200);
    assert_eq!(names(&scene).await, json!([]));
}

#[tokio::test]
async fn b35_one_mistake_stores_nothing_and_every_mistake_is_named() {
    let scene = Scene::new(ok()).await;
    let good = json!({ "name": "good", "image": "i:1", "tiers": pod("60s") });
    let typo = json!({
        "name": "typo", "image": "i:1", "tiers": pod("60s"), "policy": { "promote_rsp": 2 },
    });
    let tier = json!({ "name": "tier", "image": "i:1", "tiers": { "podd": {} } });
    let items = json!({ "items": [good, typo, tier, good] });
    let (status, problem) = scene.write(Method::PUT, "/deployments", items).await;
    assert_eq!(status, 400);
    let fields = fields(&problem);
    for field in [
        "items[1].policy.promote_rsp",
        "items[2].tiers.podd",
        "items[3].name",
    ] {
        assert!(fields.contains(&field), "{field} is not among {fields:?}");
    }
    assert_eq!(names(&scene).await, json!([]));
    let items = json!({ "items": [good], "dry_run": true });
    let (status, edited) = scene.write(Method::PUT, "/deployments", items).await;
    assert_eq!(
        (status, &edited["items"][0]["created"]),
        (200, &json!(true))
    );
    assert_eq!(names(&scene).await, json!([]), "a dry run stores nothing");
}

#[tokio::test]
async fn b36_what_makes_no_sense_is_refused_and_nothing_is_stored() {
    let scene = Scene::new(ok()).await;
    let policy = |promote: Value, demote: Value| json!({ "policy": { "promote_rps": promote, "demote_rps": demote } });
    let pods = |min: i64, max: i64| json!({ "tiers": { "pod": { "provider": "toy", "min_instances": min, "max_instances": max } } });
    let wrong = [
        policy(json!(-2.5), json!(1)),
        policy(json!(0), json!(0)),
        policy(json!(1), json!(2)),
        policy(json!(2), json!(2)),
        pods(2, 1),
        json!({ "concurrency": { "max_concurrency": 0 } }),
        json!({ "name": "" }),
        json!({ "name": "a/b" }),
        json!({ "name": ".." }),
        json!({ "name": "n".repeat(300) }),
        json!({ "name": 7 }),
        json!({ "port": "eighty" }),
        json!({ "tiers": [] }),
        json!({ "tiers": {} }),
        json!({ "colour": "red" }),
    ];
    for change in wrong {
        let mut spec = json!({ "name": "m", "image": "i:1", "tiers": pod("60s") });
        for (key, value) in change.as_object().unwrap() {
            spec[key] = value.clone();
        }
        let (status, problem) = scene.write(Method::POST, "/deployments", spec).await;
        assert_eq!(status, 400, "{change}: {problem}");
        assert!(!fields(&problem).is_empty(), "{change}: {problem}");
    }
    assert_eq!(names(&scene).await, json!([]));
    scene.deploy(pod("60s"), json!({})).await;
    let again = json!({ "name": "m", "image": "i:1", "tiers": pod("60s") });
    assert_eq!(
        scene.write(Method::POST, "/deployments", again).await.0,
        409
    );
}

#[tokio::test]
async fn b36_a_number_beyond_all_bounds_is_refused() {
    let scene = Scene::new(ok()).await;
    let body = r#"{"name":"m","image":"i:1","tiers":{"pod":{"provider":"toy"}},"policy":{"promote_rps":1e309}}"#;
    let mut client = RawClient::connect(scene.system.admin.address)
        .await
        .unwrap();
    let request = client.request("POST", "/api/v1/deployments");
    let request = request.header("authorization", bearer());
    let response = request.body(body).send().await.unwrap();
    assert_eq!(response.status, 400, "{}", response.text());
    assert_eq!(names(&scene).await, json!([]));
}

#[tokio::test]
async fn a_patch_merges_and_null_removes() {
    let scene = Scene::new(ok()).await;
    scene
        .deploy(pod("60s"), json!({ "env": { "A": "1", "B": "2" } }))
        .await;
    let patched = scene
        .system
        .admin
        .patch("m", json!({ "env": { "A": null, "C": "3" } }))
        .await;
    assert_eq!(patched["spec"]["env"], json!({ "B": "2", "C": "3" }));
    assert_eq!(patched["generation"], 2);
    let (status, problem) = scene
        .write(Method::PATCH, "/deployments/m", json!({ "name": "n" }))
        .await;
    assert_eq!((status, fields(&problem)), (400, vec!["name"]));
    let (status, _) = scene
        .write(Method::PATCH, "/deployments/m", json!("text"))
        .await;
    assert_eq!(status, 400);
    let (status, _) = scene
        .write(Method::PATCH, "/deployments/n", json!({}))
        .await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn the_same_put_twice_is_one_change() {
    let scene = Scene::new(ok()).await;
    let spec = json!({ "image": "i:1", "tiers": pod("60s") });
    let put = async || {
        scene
            .write(Method::PUT, "/deployments/m", spec.clone())
            .await
    };
    let (status, first) = put().await;
    assert_eq!((status, &first["generation"]), (201, &json!(1)));
    let (status, second) = put().await;
    assert_eq!((status, &second["generation"]), (200, &json!(1)));
    assert_eq!(second["updated_at"], first["updated_at"]);
    let read_back = scene
        .write(Method::PUT, "/deployments/m", first["spec"].clone())
        .await;
    assert_eq!(
        read_back.1["generation"], 1,
        "what is read may be written back"
    );
}

#[tokio::test]
async fn a_list_comes_in_pages_without_gap_or_repetition() {
    let scene = Scene::new(ok()).await;
    let spec = |i: u32| json!({ "name": format!("m{i:02}"), "image": "i:1", "tiers": pod("60s") });
    let items: Vec<Value> = (0..25).map(spec).collect();
    scene
        .write(Method::PUT, "/deployments", json!({ "items": items }))
        .await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/deployments?limit=10&cursor={cursor}");
        let (_, page) = scene.admin(Method::GET, &path).await;
        let items = page["items"].as_array().unwrap().iter();
        seen.extend(items.map(|d| d["name"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    let all: Vec<String> = (0..25).map(|i| format!("m{i:02}")).collect();
    assert_eq!(seen, all);
}

#[tokio::test]
async fn an_answered_write_is_already_obeyed() {
    let scene = Scene::new(ok()).await;
    for i in 0..20 {
        let name = format!("m{i}");
        let spec = json!({ "name": name, "image": "i:1", "tiers": pod("60s") });
        assert_eq!(scene.write(Method::POST, "/deployments", spec).await.0, 201);
        let mut client = scene.system.client().await;
        let path = format!("/d/{name}/x");
        let response = client.request("GET", &path).send().await.unwrap();
        assert_eq!(response.status, 200, "{}", response.text());
        scene
            .admin(Method::POST, &format!("/deployments/{name}/sleep"))
            .await;
        let response = client.request("GET", &path).send().await.unwrap();
        assert_eq!(response.status, 503);
    }
}

#[tokio::test]
async fn the_decision_shows_every_input_and_why_not_the_others() {
    let scene = Scene::new(ok()).await;
    scene
        .deploy(crate::scene::both_tiers(), crate::scene::two_and_one())
        .await;
    assert_eq!(scene.get().await.status, 200);
    let (_, decision) = scene.admin(Method::GET, "/deployments/m/decision").await;
    assert_eq!(
        (&decision["tier"], &decision["reason"]),
        (&json!("serverless"), &json!("below_promote"))
    );
    let inputs = &decision["inputs"];
    assert_eq!(
        (&inputs["count"], &inputs["promote_count"]),
        (&json!(1), &json!(600.0))
    );
    assert_eq!(
        (&inputs["demote_count"], &inputs["observed"]),
        (&json!(300.0), &json!(false))
    );
    let why_not = json!([{ "tier": "pod", "reason": "below_promote" }]);
    assert_eq!(decision["alternatives"], why_not);
    let (status, _) = scene.admin(Method::GET, "/deployments/n/decision").await;
    assert_eq!(status, 404);
}

/// A time that has passed would force nothing, and null says nothing.
#[tokio::test]
async fn forcing_until_a_time_that_is_no_future_one_is_refused() {
    let scene = Scene::new(ok()).await;
    scene.deploy(pod("60s"), json!({})).await;
    // The scene's wall clock begins at 2027-01-15T08:00:00Z.
    let forced = |until: Value| json!({ "tier": "pod", "until": until });
    for until in [json!(null), json!("2027-01-15T07:59:59Z"), json!("soon")] {
        let path = "/deployments/m/forced";
        let (status, problem) = scene.write(Method::PUT, path, forced(until.clone())).await;
        assert_eq!((status, fields(&problem)), (400, vec!["until"]), "{until}");
    }
    let patch = json!({ "forced": forced(json!("2020-01-01T00:00:00Z")) });
    let (status, problem) = scene.write(Method::PATCH, "/deployments/m", patch).await;
    assert_eq!((status, fields(&problem)), (400, vec!["forced.until"]));
    let soon = forced(json!("2027-01-15T08:00:05Z"));
    let (status, _) = scene
        .write(Method::PUT, "/deployments/m/forced", soon)
        .await;
    assert_eq!(status, 200);
    scene.step(crate::scene::secs(10)).await;
    // What ran out while it was in force stands in nobody's way.
    let patch = json!({ "port": 9000 });
    let (status, problem) = scene.write(Method::PATCH, "/deployments/m", patch).await;
    assert_eq!(status, 200, "{problem}");
}

/// What only the other deployments and the configuration show is looked for too.
#[tokio::test]
async fn every_mistake_is_named_whoever_can_see_it() {
    let scene = Scene::new(ok()).await;
    let taken = json!({
        "name": "taken", "image": "i:1", "tiers": pod("60s"),
        "routes": { "aliases": ["llm"] },
    });
    assert_eq!(
        scene.write(Method::POST, "/deployments", taken).await.0,
        201
    );
    let body = json!({
        "name": "other", "port": 0, "image": "i:1",
        "tiers": { "pod": { "provider": "nosuch" } },
        "routes": { "aliases": ["llm"] },
    });
    let (status, problem) = scene.write(Method::PUT, "/deployments/m", body).await;
    assert_eq!(status, 400);
    let named = fields(&problem);
    for field in ["port", "tiers.pod.provider", "routes.aliases[0]", "name"] {
        assert!(named.contains(&field), "{field}: {problem}");
    }
    assert!(problem["request_id"].is_string(), "{problem}");
}

/// Files are deployed again by machines; what an operator forced stays.
#[tokio::test]
async fn a_document_that_says_nothing_of_a_force_leaves_it() {
    let scene = Scene::new(ok()).await;
    let document = |image: &str| json!({ "name": "m", "image": image, "tiers": both_tiers() });
    scene.system.admin.deploy(document("i:1")).await;
    assert_eq!(scene.system.admin.force("m", "pod").await.0, 200);
    let forced = async || scene.system.admin.deployment("m").await["spec"]["forced"].clone();
    let in_force = forced().await;
    assert_eq!(in_force["tier"], "pod");

    let dry = json!({ "items": [document("i:1")], "dry_run": true });
    let (_, edited) = scene.write(Method::PUT, "/deployments", dry).await;
    assert_eq!(edited["items"][0]["changes"], json!([]), "{edited}");
    let items = json!({ "items": [document("i:2")] });
    scene.write(Method::PUT, "/deployments", items).await;
    assert_eq!(forced().await, in_force);
    let path = "/deployments/m";
    scene.write(Method::PUT, path, document("i:3")).await;
    assert_eq!(forced().await, in_force);

    let mut without_it = document("i:3");
    without_it["tiers"] = json!({ "serverless": { "provider": "toy" } });
    assert_eq!(scene.write(Method::PUT, path, without_it).await.0, 200);
    assert_eq!(forced().await, Value::Null, "it has no such tier");

    scene.write(Method::PUT, path, document("i:3")).await;
    scene.system.admin.force("m", "pod").await;
    let mut ended = document("i:3");
    ended["forced"] = Value::Null;
    scene.write(Method::PUT, path, ended).await;
    assert_eq!(forced().await, Value::Null);
    scene.system.admin.force("m", "pod").await;
    let patch = json!({ "forced": null });
    assert_eq!(scene.write(Method::PATCH, path, patch).await.0, 200);
    assert_eq!(forced().await, Value::Null);
}
