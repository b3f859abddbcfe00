//! The clauses that every adapter must pass.

use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_fake_runpod::Settings;
use thermocline_policy::Tier;
use thermocline_provider::conformance::{Setup, run};
use thermocline_runpod::EndpointType;

use crate::scene::{Scene, request};

async fn conforms(tier: Tier, kind: EndpointType, settings: Settings) {
    let scene = Scene::with(Clock::system(), settings, kind).await;
    let setup = Setup {
        poll_every: Duration::from_millis(20),
        ..Setup::new(request(tier))
    };
    let report = run(&scene.provider, &setup).await;
    assert!(report.passed(), "{report}");
    assert_eq!(scene.live(), (0, 0), "nothing is left");
}

#[tokio::test]
async fn pods_conform() {
    conforms(Tier::Pod, EndpointType::LoadBalancer, Settings::quick()).await;
}

#[tokio::test]
async fn load_balancing_endpoints_conform() {
    conforms(
        Tier::Serverless,
        EndpointType::LoadBalancer,
        Settings::quick(),
    )
    .await;
}

#[tokio::test]
async fn queue_endpoints_conform() {
    conforms(Tier::Serverless, EndpointType::Queue, Settings::quick()).await;
}

#[tokio::test]
async fn lists_in_pages_and_with_environments_conform() {
    let settings = Settings {
        page: Some(1),
        env_null_in_lists: false,
        ..Settings::quick()
    };
    conforms(Tier::Pod, EndpointType::LoadBalancer, settings).await;
}
