//! Pods end by themselves when the server never comes back, and never before.

use std::time::Duration;

use serde_json::json;
use thermocline_provider::ProviderErrorKind;
use thermocline_support::backend::Latch;
use thermocline_support::provider::{Call, FakeProvider, Fault};
use thermocline_support::system::{Setup, manual_clock};

use crate::scene::{Scene, ok, pod, secs};

const HOUR: Duration = Duration::from_secs(3_600);

/// A system whose pods may outlive it by an hour.
async fn scene() -> Scene {
    let time = manual_clock();
    let cloud = FakeProvider::new(&time.clock(), |_| ok().into());
    cloud.limit_lifetimes();
    let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
    setup.budget.max_absence = HOUR;
    let system = setup.start().await;
    let scene = Scene {
        time,
        cloud,
        system,
    };
    scene.deploy(pod("10h"), json!({})).await;
    assert_eq!(scene.get().await.status, 200);
    scene
}

#[tokio::test]
async fn a_pod_whose_server_never_comes_back_ends_after_its_lifetime() {
    let scene = scene().await;
    scene.pass_in(HOUR / 2, secs(60)).await;
    assert_eq!(scene.cloud.truth().live.len(), 1);
    let (time, cloud) = (scene.time.clone(), scene.cloud.clone());
    drop(scene.system.crash());
    time.advance(HOUR / 2);
    assert_eq!(cloud.truth().live.len(), 1, "an absence that is allowed");
    time.advance(HOUR / 2);
    assert_eq!(cloud.truth().live.len(), 0);
}

#[tokio::test]
async fn a_pod_under_load_outlives_its_lifetime_with_its_server() {
    let scene = scene().await;
    let id = scene.cloud.truth().live[0].id.clone();
    // Renewals fail for a quarter of an hour of every lifetime.
    let away = Fault::Refused(ProviderErrorKind::Unavailable);
    for minute in 0..180 {
        if minute % 60 == 10 {
            scene.cloud.fail_next(Call::Renew, 30, away);
        }
        scene.step(secs(60)).await;
        assert_eq!(scene.get().await.status, 200);
    }
    let truth = scene.cloud.truth();
    assert_eq!((truth.created, truth.live[0].id.as_str()), (1, id.as_str()));
    let renewals = truth.count(Call::Renew);
    assert!((11..=120).contains(&renewals), "{renewals}");
}

/// Its lists fail, and it does everything else: what is served goes on.
#[tokio::test]
async fn a_pod_outlives_an_outage_of_lists_that_is_longer_than_its_lifetime() {
    let scene = scene().await;
    let away = Fault::Refused(ProviderErrorKind::Unavailable);
    scene.cloud.fail_until(Call::List, &Latch::new(), away);
    for _ in 0..180 {
        scene.step(secs(60)).await;
        assert_eq!(scene.get().await.status, 200);
    }
    assert_eq!(scene.cloud.truth().created, 1, "no other took its place");
}

#[tokio::test]
async fn a_restart_renews_at_once() {
    let scene = scene().await;
    scene.pass_in(HOUR / 5, secs(60)).await;
    let scene = scene.crash(HOUR / 2).await;
    scene.pass_in(HOUR / 2, secs(60)).await;
    assert_eq!(scene.get().await.status, 200);
    assert_eq!(scene.cloud.truth().created, 1, "no other took its place");
}
