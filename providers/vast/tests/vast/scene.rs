//! One account at a fake Vast.ai, and the adapter that uses it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fake_vast::{FakeVast, Faults, Settings as FakeSettings};
use thermocline_provider::{InstanceRequest, Provider, ProviderInstance, ProviderState};
use thermocline_vast::{Account, Settings, Spacing, VastProvider};

pub(crate) const KEY: &str = "sentinel-key";

pub(crate) struct Scene {
    pub(crate) fake: FakeVast,
    pub(crate) provider: VastProvider,
    clock: Clock,
}

/// A clock that only the test moves.
pub(crate) fn still() -> ManualClock {
    ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

impl Scene {
    pub(crate) async fn new() -> Scene {
        Scene::on(Clock::system()).await
    }

    pub(crate) async fn on(clock: Clock) -> Scene {
        Scene::with(clock, FakeSettings::quick(), Settings::default()).await
    }

    pub(crate) async fn with(clock: Clock, fake: FakeSettings, settings: Settings) -> Scene {
        let fake = FakeVast::anywhere(KEY, clock.clone(), fake).await.unwrap();
        let provider = provider(&fake, &clock, Spacing::NONE, settings);
        Scene {
            fake,
            provider,
            clock,
        }
    }

    /// What a process started anew has.
    pub(crate) fn restarted(&self) -> VastProvider {
        provider(&self.fake, &self.clock, Spacing::NONE, Settings::default())
    }

    pub(crate) fn faults(&self, faults: Faults) {
        self.fake.set_faults(faults);
    }

    pub(crate) async fn create(&self) -> ProviderInstance {
        self.provider.create("key", &request()).await.unwrap()
    }

    /// The instance once it is ready.
    pub(crate) async fn ready(&self, id: &str) -> ProviderInstance {
        let mut looks = tokio::time::interval(Duration::from_millis(5));
        loop {
            looks.tick().await;
            let seen = self.provider.get(id).await.unwrap().unwrap();
            if seen.state == ProviderState::Ready {
                return seen;
            }
        }
    }

    /// Every instance that exists.
    pub(crate) fn live(&self) -> Vec<Value> {
        self.fake.truth()["instances"].as_array().unwrap().clone()
    }

    pub(crate) fn made(&self) -> u64 {
        self.fake.truth()["made"].as_u64().unwrap()
    }
}

pub(crate) fn provider(
    fake: &FakeVast,
    clock: &Clock,
    spacing: Spacing,
    settings: Settings,
) -> VastProvider {
    let account = Account::new(KEY.to_owned(), &fake.url, clock.clone(), spacing);
    VastProvider::new(Arc::new(account.unwrap()), settings)
}

pub(crate) fn request() -> InstanceRequest {
    with(json!({}))
}

pub(crate) fn with(more: Value) -> InstanceRequest {
    let mut request = json!({
        "owner": "owner", "deployment": "toy", "tier": "pod", "image": "image", "port": 8000,
        "gpus": 1, "ready_path": "/ping",
    });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    serde_json::from_value(request).unwrap()
}
