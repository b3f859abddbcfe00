//! The clauses that every adapter must pass.

use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_fake_vast::Settings as FakeSettings;
use thermocline_provider::conformance::{Setup, run};
use thermocline_vast::Settings;

use crate::scene::{Scene, request};

async fn conforms(fake: FakeSettings, settings: Settings) {
    let scene = Scene::with(Clock::system(), fake, settings).await;
    let setup = Setup {
        poll_every: Duration::from_millis(20),
        ..Setup::new(request())
    };
    let report = run(&scene.provider, &setup).await;
    assert!(report.passed(), "{report}");
    assert_eq!(
        scene.live(),
        [] as [serde_json::Value; 0],
        "nothing is left"
    );
}

#[tokio::test]
async fn instances_conform() {
    conforms(FakeSettings::quick(), Settings::default()).await;
}

#[tokio::test]
async fn lists_in_pages_conform() {
    let fake = FakeSettings {
        page: 1,
        ..FakeSettings::quick()
    };
    conforms(fake, Settings::default()).await;
}

#[tokio::test]
async fn interruptible_instances_conform() {
    let bids = Settings {
        bid: Some(1.2),
        ..Settings::default()
    };
    conforms(FakeSettings::quick(), bids).await;
}
