//! Secrets of deployments over REST: who may name them, and what is shown.

use reqwest::Method;
use serde_json::{Value, json};

use crate::scene::{Scene, ok};

const VALUE: &str = "hf_Sentinel";

async fn put(scene: &Scene, name: &str, body: Value) -> (u16, Value) {
    let path = format!("/secrets/{name}");
    let admin = &scene.system.admin;
    let (status, body) = admin.call(Method::PUT, &path, Some(&body)).await;
    (status.as_u16(), body)
}

fn with_secret(name: &str) -> Value {
    let tiers = json!({ "pod": { "provider": "toy" } });
    let env = json!({ "STEPS": "30", "HF_TOKEN": { "secret": name } });
    json!({ "name": "m", "image": "i:1", "tiers": tiers, "env": env })
}

#[tokio::test]
async fn a_secret_is_set_listed_with_its_users_and_never_shown() {
    let scene = Scene::new(ok()).await;
    let (status, made) = put(&scene, "hf", json!({ "value": VALUE })).await;
    assert_eq!((status, &made["name"]), (201, &json!("hf")));
    let (status, again) = put(&scene, "hf", json!({ "value": "another" })).await;
    assert_eq!(status, 200);
    assert_eq!(again["created_at"], made["created_at"]);
    let shown = scene.system.admin.deploy(with_secret("hf")).await;
    assert_eq!(
        shown["spec"]["env"]["HF_TOKEN"],
        json!({ "secret": "hf" }),
        "it reads as it was written"
    );
    let (_, list) = scene.admin(Method::GET, "/secrets").await;
    assert_eq!(list["items"][0]["used_by"], json!(["m"]));
    let keys: Vec<&String> = list["items"][0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["created_at", "name", "updated_at", "used_by"]);
}

#[tokio::test]
async fn a_deployment_that_names_no_secret_of_ours_is_refused_with_its_field() {
    let scene = Scene::new(ok()).await;
    let admin = &scene.system.admin;
    let spec = with_secret("hf");
    let (status, body) = admin.call(Method::POST, "/deployments", Some(&spec)).await;
    assert_eq!(status.as_u16(), 400);
    let error = &body["errors"][0];
    assert_eq!(error["field"], "env.HF_TOKEN.secret");
    let said = error["message"].as_str().unwrap();
    assert!(said.contains("thermocline secret set hf"), "{said}");
    let several = json!({ "items": [spec] });
    let (_, body) = admin
        .call(Method::PUT, "/deployments", Some(&several))
        .await;
    assert_eq!(body["errors"][0]["field"], "items[0].env.HF_TOKEN.secret");
}

#[tokio::test]
async fn a_secret_in_use_stays_until_nobody_names_it() {
    let scene = Scene::new(ok()).await;
    put(&scene, "hf", json!({ "value": VALUE })).await;
    scene.system.admin.deploy(with_secret("hf")).await;
    let (status, body) = scene.admin(Method::DELETE, "/secrets/hf").await;
    assert_eq!(status, 409);
    assert_eq!(body["detail"], "hf is used by m");
    let plain = json!({ "env": { "HF_TOKEN": null } });
    scene.system.admin.patch("m", plain).await;
    let (status, _) = scene.admin(Method::DELETE, "/secrets/hf").await;
    assert_eq!(status, 204);
    let (status, _) = scene.admin(Method::DELETE, "/secrets/hf").await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn what_can_be_no_secret_is_refused_by_its_field() {
    let scene = Scene::new(ok()).await;
    let long = "x".repeat(64 * 1024 + 1);
    for (name, body, field) in [
        ("Hf", json!({ "value": VALUE }), "name"),
        ("hf", json!({}), "value"),
        ("hf", json!({ "value": null }), "value"),
        ("hf", json!({ "value": 7 }), "value"),
        ("hf", json!({ "value": "" }), "value"),
        ("hf", json!({ "value": "a\u{0}b" }), "value"),
        ("hf", json!({ "value": long }), "value"),
        ("hf", json!({ "value": VALUE, "vaule": VALUE }), "vaule"),
        ("hf", json!([VALUE]), "document"),
    ] {
        let (status, answer) = put(&scene, name, body).await;
        assert_eq!(status, 400, "{field}: {answer}");
        assert_eq!(answer["errors"][0]["field"], field, "{answer}");
        assert!(!answer.to_string().contains(VALUE), "{answer}");
    }
    let (status, _) = put(&scene, "hf", json!({ "value": "x".repeat(64 * 1024) })).await;
    assert_eq!(status, 201);
}

/// A new value is for new instances; another secret is another environment.
#[tokio::test]
async fn a_new_value_replaces_no_instance_and_another_secret_does() {
    let scene = Scene::new(ok()).await;
    for name in ["hf", "hf-2"] {
        put(&scene, name, json!({ "value": VALUE })).await;
    }
    let mut spec = with_secret("hf");
    spec["tiers"]["pod"]["min_instances"] = json!(1);
    scene.system.admin.deploy(spec).await;
    scene.until_state("running").await;
    put(&scene, "hf", json!({ "value": "another" })).await;
    scene
        .pass_in(crate::scene::secs(5), crate::scene::SECOND)
        .await;
    assert_eq!(scene.cloud.truth().created, 1);
    let other = json!({ "env": { "HF_TOKEN": { "secret": "hf-2" } } });
    scene.system.admin.patch("m", other).await;
    let replaced = async || scene.cloud.truth().created == 2;
    scene.until(crate::scene::SECOND, replaced).await;
}
