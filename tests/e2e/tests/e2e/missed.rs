//! What a request meets whose pod is gone: it is served by the next one, where nothing
//! can have been done with it.

use reqwest::Method;
use serde_json::json;
use thermocline_provider::ProviderErrorKind::Unreachable;
use thermocline_support::backend::{FakeBackend, Latch, Reply, Script};
use thermocline_support::provider::{Boot, Call, Fault};

use crate::scene::{SECOND, Scene, Sent, ok, pod, secs};

/// With one pod that is ready, no longer young, and echoes.
async fn with_a_pod() -> Scene {
    let scene = Scene::new(Reply::echo()).await;
    scene.deploy(pod("10m"), json!({})).await;
    let first = scene.send("60s").await;
    assert_eq!(scene.answered(SECOND / 10, first).await.status, 200);
    scene.pass(secs(40)).await;
    scene
}

/// The same behind the proxy of a cloud, which knows the pod until `latch` opens.
async fn behind_a_proxy(latch: &Latch) -> (Scene, FakeBackend) {
    let scene = Scene::new(Reply::echo()).await;
    scene.cloud.set_boot(Boot::Never);
    scene.deploy(pod("10m"), json!({})).await;
    let first = scene.send("60s").await;
    scene.until_live(1).await;
    let proxy = FakeBackend::start(Script::until(latch, ok(), Reply::new(404))).await;
    let id = scene.cloud.truth().live[0].id.clone();
    scene.cloud.readdress(&id, &proxy.url());
    assert_eq!(scene.answered(SECOND / 10, first).await.status, 200);
    scene.pass(secs(40)).await;
    scene.cloud.set_boot(Boot::AtOnce);
    (scene, proxy)
}

async fn lose_it(scene: &Scene) {
    let id = scene.cloud.truth().live[0].id.clone();
    scene.cloud.vanish(&id).await;
}

async fn post(scene: &Scene, body: impl Into<bytes::Bytes>) -> Sent {
    let mut client = scene.system.client().await;
    let body = body.into();
    tokio::spawn(async move {
        let request = client.request("POST", "/d/m/x").body(body);
        request.send().await.unwrap()
    })
}

#[tokio::test]
async fn a_request_that_finds_nobody_where_the_pod_was_is_served_by_the_next_with_its_body() {
    let scene = with_a_pod().await;
    lose_it(&scene).await;
    let since = scene.elapsed();
    let sent = post(&scene, "precious").await;
    let answer = scene.answered(SECOND / 10, sent).await;
    assert_eq!((answer.status, answer.text()), (200, "precious".to_owned()));
    assert_eq!(answer.header("x-thermocline-start"), Some("cold"));
    assert!(scene.elapsed() - since <= secs(4));
    assert_eq!(scene.cloud.truth().created, 2);
}

#[tokio::test]
async fn a_404_in_the_place_of_a_pod_that_is_gone_is_not_the_answer() {
    let latch = Latch::new();
    let (scene, proxy) = behind_a_proxy(&latch).await;
    lose_it(&scene).await;
    latch.open();
    let sent = post(&scene, "precious").await;
    let answer = scene.answered(SECOND / 10, sent).await;
    assert_eq!((answer.status, answer.text()), (200, "precious".to_owned()));
    let asked = proxy.seen().to("/d/m/x").count() + proxy.seen().to("/x").count();
    assert_eq!(asked, 2, "the first request's, and the lost one");
}

/// Too large to be kept, so it cannot be sent again: the client does that.
#[tokio::test]
async fn what_cannot_be_sent_again_has_another_pod_begun_all_the_same() {
    let latch = Latch::new();
    let (scene, _proxy) = behind_a_proxy(&latch).await;
    lose_it(&scene).await;
    latch.open();
    let sent = post(&scene, vec![b'x'; 100 << 10]).await;
    assert_eq!(scene.answered(SECOND / 10, sent).await.status, 404);
    let replaced = async || scene.cloud.truth().created == 2;
    scene.until(SECOND / 10, replaced).await;
    scene.until_state("running").await;
}

#[tokio::test]
async fn a_404_of_a_pod_that_is_there_is_the_answer_and_costs_one_look_in_ten_seconds() {
    let missing = Script::always(ok()).on("/x", Reply::new(404).body("no such thing"));
    let scene = Scene::new(missing).await;
    scene.deploy(pod("10m"), json!({})).await;
    let first = scene.send("60s").await;
    let first = scene.answered(SECOND / 10, first).await;
    assert_eq!(
        (first.status, first.text()),
        (404, "no such thing".to_owned())
    );
    let gets = scene.cloud.truth().count(Call::Get);
    for _ in 0..5 {
        assert_eq!(scene.get().await.status, 404);
    }
    let looks = scene.cloud.truth().count(Call::Get) - gets;
    assert_eq!((looks, scene.cloud.truth().created), (0, 1));
}

/// It exists, and is paid; that its process does not listen is its own matter.
#[tokio::test]
async fn a_pod_that_is_there_and_does_not_listen_is_told_at_once() {
    let scene = with_a_pod().await;
    let id = scene.cloud.truth().live[0].id.clone();
    scene.cloud.backend(&id).unwrap().kill().await;
    let sent = post(&scene, "x").await;
    assert_eq!(scene.answered(SECOND / 10, sent).await.status, 502);
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn a_404_waits_for_no_look_that_takes_longer_than_a_moment() {
    let (latch, word) = (Latch::new(), Latch::new());
    let (scene, _proxy) = behind_a_proxy(&latch).await;
    let gets = scene.cloud.truth().count(Call::Get);
    scene.cloud.hold(Call::Get, &word);
    latch.open();
    let first = post(&scene, "x").await;
    let asked = scene.cloud.wait_for(|truth| truth.count(Call::Get) > gets);
    asked.await;
    let joins = post(&scene, "x").await;
    scene.pass_in(2 * SECOND, SECOND / 4).await;
    assert_eq!(joins.await.unwrap().status, 404);
    assert_eq!(scene.get().await.status, 404, "no time has passed");
    assert!(!first.is_finished(), "one waits for the provider's word");
    word.open();
    assert_eq!(scene.answered(SECOND / 10, first).await.status, 404);
    assert_eq!(scene.cloud.truth().created, 1);
}

#[tokio::test]
async fn a_404_waits_for_no_provider_that_is_known_to_be_silent() {
    let (latch, back) = (Latch::new(), Latch::new());
    let (scene, _proxy) = behind_a_proxy(&latch).await;
    for call in [Call::List, Call::Get] {
        let fault = Fault::Refused(Unreachable);
        scene.cloud.fail_until(call, &back, fault);
    }
    scene.pass(secs(12)).await;
    let gets = scene.cloud.truth().count(Call::Get);
    latch.open();
    assert_eq!(scene.get().await.status, 404, "no time has passed");
    assert_eq!(scene.cloud.truth().count(Call::Get), gets);
}

/// Four pods are paid for, and lists that the provider calls complete show none of them.
async fn with_lists_that_nobody_believes(never: &Latch) -> Scene {
    let scene = with_a_pod().await;
    for name in ["n1", "n2", "n3"] {
        let tiers = json!({ "pod": { "provider": "toy", "min_instances": 1 } });
        let spec = json!({ "name": name, "image": "i:1", "tiers": tiers });
        scene.system.admin.deploy(spec).await;
    }
    scene.until_live(4).await;
    scene.pass(secs(40)).await;
    scene.cloud.fail_until(Call::List, never, Fault::Blind);
    scene.pass(secs(10)).await;
    scene
}

/// The pod of `m` goes as if a person had deleted it.
async fn lose_the_pod_of_m(scene: &Scene) {
    let status = scene.status().await;
    let all = status["instances"].as_array().unwrap();
    let ready = all.iter().find(|it| it["state"] == "ready").unwrap();
    let key = ready["id"].as_str().unwrap();
    let live = scene.cloud.truth().live;
    let gone = live.iter().find(|it| it.key == key).unwrap();
    scene.cloud.vanish(&gone.id).await;
}

#[tokio::test]
async fn while_no_list_is_believed_each_pod_that_vanishes_is_replaced_and_paid_for_no_more() {
    let never = Latch::new();
    let scene = with_lists_that_nobody_believes(&never).await;
    scene.cloud.set_price(36.0);
    for _ in 0..3 {
        lose_the_pod_of_m(&scene).await;
        let since = scene.elapsed();
        let sent = post(&scene, "x").await;
        let answer = scene.answered(SECOND / 10, sent).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(scene.elapsed() - since <= secs(4));
        scene.pass(secs(5)).await;
    }
    assert_eq!(scene.cloud.truth().live.len(), 4);
    let spent = async || {
        let (_, costs) = scene.admin(Method::GET, "/costs?by=deployment").await;
        let mut items = costs["items"].as_array().unwrap().iter();
        items.find(|it| it["deployment"] == "m").unwrap()["usd"]
            .as_f64()
            .unwrap()
    };
    let before = spent().await;
    scene.pass(secs(100)).await;
    let cost = spent().await - before;
    assert!(cost <= 1.05, "one pod is there, at a cent a second: {cost}");
    let (_, decision) = scene.admin(Method::GET, "/deployments/m/decision").await;
    let told = decision["obstacles"].to_string();
    assert!(told.contains("not believed"), "{told}");
    never.open();
    // Lists that were wrong are believed again five minutes after.
    scene.pass_in(secs(400), secs(5)).await;
    let status = scene.status().await;
    let left = status["instances"].as_array().unwrap().len();
    assert_eq!(left, 1, "{status}");
}
