//! What the cloud says of its instances, and the faults that tests can ask for.

#![allow(clippy::unwrap_used)] // tests

mod common;

use std::time::Duration;

use common::{TOKEN, cloud, quick, request};
use serde_json::json;
use thermocline_policy::Tier;
use thermocline_provider::{
    OfferQuery, Provider, ProviderErrorKind as Kind, ProviderState, list_all,
};
use thermocline_sim::Settings;

#[tokio::test]
async fn nothing_is_told_without_the_token() {
    let cloud = cloud(quick()).await;
    for path in [
        "/v1/capabilities",
        "/v1/instances?owner=o",
        "/v1/faults",
        "/v1/stop",
    ] {
        for token in ["", "tokem", "token2"] {
            let url = format!("{}{path}", cloud.url);
            let answer = cloud.http.get(url).bearer_auth(token).send().await.unwrap();
            assert_eq!(answer.status(), 401, "{path}");
            assert!(answer.text().await.unwrap().contains(r#""code":"auth""#));
        }
    }
}

#[tokio::test]
async fn a_pod_has_a_price_and_an_endpoint_has_an_address_at_once() {
    let cloud = cloud(Settings::default()).await;
    let pod = cloud.create(Tier::Pod, &[]).await;
    assert_eq!(
        (pod.state, pod.usd_per_hour),
        (ProviderState::Starting, Some(1.2))
    );
    let request = request(Tier::Serverless, &[]);
    let endpoint = cloud.provider.create("other", &request).await.unwrap();
    assert_eq!(
        (endpoint.state, endpoint.usd_per_hour),
        (ProviderState::Ready, None)
    );
    assert!(endpoint.address.is_some());
}

#[tokio::test]
async fn pods_are_sold_until_none_is_left() {
    let settings = Settings {
        capacity: 2,
        ..quick()
    };
    let cloud = cloud(settings).await;
    let request = request(Tier::Pod, &[]);
    let query = OfferQuery {
        tier: Tier::Pod,
        vram_mib: 80_000,
        gpus: 1,
    };
    for key in ["a", "b"] {
        assert!(cloud.provider.offers(query).await.unwrap()[0].available);
        cloud.provider.create(key, &request).await.unwrap();
    }
    let refused = cloud.provider.create("c", &request).await.unwrap_err();
    assert_eq!(refused.kind, Kind::NoCapacity);
    assert!(!cloud.provider.offers(query).await.unwrap()[0].available);
    cloud.provider.create("a", &request).await.unwrap();
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let cloud = cloud(quick()).await;
    let request = request(Tier::Serverless, &[]);
    for n in 0..230 {
        cloud
            .provider
            .create(&format!("key-{n}"), &request)
            .await
            .unwrap();
    }
    let page = cloud.provider.list("owner", None).await.unwrap();
    assert_eq!(page.instances.len(), 100);
    let (all, complete) = list_all(&cloud.provider, "owner").await.unwrap();
    assert_eq!((all.len(), complete), (230, true));
    let (none, complete) = list_all(&cloud.provider, "stranger").await.unwrap();
    assert_eq!((none.len(), complete), (0, true));
}

#[tokio::test]
async fn what_cannot_be_simulated_is_invalid() {
    let cloud = cloud(quick()).await;
    let good = request(Tier::Pod, &[]);
    let mut bad = vec![
        request(Tier::Local, &[]),
        request(Tier::Pod, &[("SIM_BOOT", "10")]),
    ];
    bad.push(thermocline_provider::InstanceRequest {
        offer: Some("h100".into()),
        ..good.clone()
    });
    bad.push(thermocline_provider::InstanceRequest {
        owner: String::new(),
        ..good
    });
    for request in bad {
        let error = cloud.provider.create("key", &request).await.unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{error}");
    }
}

#[tokio::test]
async fn an_instance_may_end_by_itself_and_says_so() {
    let cloud = cloud(quick()).await;
    let env = [("SIM_EXIT_AFTER", "10ms"), ("SIM_EXIT_CODE", "137")];
    let id = cloud.create(Tier::Pod, &env).await.id;
    let failed = cloud
        .await_state(&id, Some(ProviderState::Failed))
        .await
        .unwrap();
    assert_eq!(
        (failed.detail.as_str(), failed.address),
        ("exited with code 137", None)
    );
    cloud.provider.delete(&id).await.unwrap();
    cloud.await_state(&id, None).await;
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_was_obeyed() {
    let cloud = cloud(quick()).await;
    cloud.faults(json!({"drop_reply_after_create": 1})).await;
    let request = request(Tier::Pod, &[]);
    let lost = cloud.provider.create("key", &request).await.unwrap_err();
    assert_eq!(lost.kind, Kind::Unanswered);
    let (listed, _) = list_all(&cloud.provider, "owner").await.unwrap();
    let again = cloud.provider.create("key", &request).await.unwrap();
    assert_eq!(listed, [again]);
}

#[tokio::test]
async fn creates_fail_as_often_as_asked_and_make_nothing() {
    let cloud = cloud(quick()).await;
    cloud.faults(json!({"fail_create": 2})).await;
    let request = request(Tier::Pod, &[]);
    for _ in 0..2 {
        let error = cloud.provider.create("key", &request).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
    }
    assert!(
        cloud
            .provider
            .list("owner", None)
            .await
            .unwrap()
            .instances
            .is_empty()
    );
    cloud.provider.create("key", &request).await.unwrap();
}

#[tokio::test]
async fn capacity_lists_and_instances_fail_on_request() {
    let cloud = cloud(quick()).await;
    let id = cloud.create(Tier::Serverless, &[]).await.id;
    cloud
        .faults(json!({"no_capacity": true, "list_incomplete": true}))
        .await;
    let error = cloud
        .provider
        .create("new", &request(Tier::Serverless, &[]))
        .await;
    assert_eq!(error.unwrap_err().kind, Kind::NoCapacity);
    assert!(!cloud.provider.list("owner", None).await.unwrap().complete);
    cloud.faults(json!({"vanish": id})).await;
    assert_eq!(cloud.provider.get(&id).await, Ok(None));
    let page = cloud.provider.list("owner", None).await.unwrap();
    assert!(page.complete, "faults are replaced, not added to");
}

#[tokio::test]
async fn a_misspelt_fault_is_refused() {
    let cloud = cloud(quick()).await;
    let url = format!("{}/v1/faults", cloud.url);
    let put = cloud
        .http
        .put(url)
        .bearer_auth(TOKEN)
        .json(&json!({"vanished": "x"}));
    assert_eq!(put.send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn an_instance_that_nobody_renews_ends_by_itself() {
    let cloud = cloud(quick()).await;
    assert!(cloud.provider.capabilities().await.unwrap().lifetimes);
    let mortal = |key: &str, seconds| {
        let mut request = request(Tier::Pod, &[]);
        request.max_lifetime_s = seconds;
        (key.to_owned(), request)
    };
    let (key, asked) = mortal("left", 1);
    let left = cloud.provider.create(&key, &asked).await.unwrap();
    let (key, asked) = mortal("renewed", 1);
    let renewed = cloud.provider.create(&key, &asked).await.unwrap();
    let (key, asked) = mortal("immortal", 0);
    let immortal = cloud.provider.create(&key, &asked).await.unwrap();
    let an_hour = Duration::from_secs(3_600);
    assert!(cloud.provider.renew(&renewed.id, an_hour).await.unwrap());
    cloud.await_state(&left.id, None).await;
    for id in [&renewed.id, &immortal.id] {
        assert!(cloud.provider.get(id).await.unwrap().is_some());
    }
    assert!(!cloud.provider.renew(&left.id, an_hour).await.unwrap());
}
