//! One account at a fake RunPod, and the adapter that uses it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_fake_runpod::{FakeRunpod, Faults, Settings as FakeSettings};
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Provider, ProviderInstance, ProviderState};
use thermocline_runpod::{Account, EndpointType, RunpodProvider, Settings};

pub(crate) const KEY: &str = "sentinel-key";
/// The type of endpoints where it does not matter.
pub(crate) const LB: EndpointType = EndpointType::LoadBalancer;

pub(crate) struct Scene {
    pub(crate) fake: FakeRunpod,
    pub(crate) provider: RunpodProvider,
    clock: Clock,
}

/// A clock that only the test moves.
pub(crate) fn still() -> ManualClock {
    ManualClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

impl Scene {
    pub(crate) async fn new(kind: EndpointType) -> Scene {
        Scene::with(Clock::system(), FakeSettings::quick(), kind).await
    }

    pub(crate) async fn with(clock: Clock, settings: FakeSettings, kind: EndpointType) -> Scene {
        let fake = FakeRunpod::anywhere(KEY, clock.clone(), settings)
            .await
            .unwrap();
        let provider = provider(&fake, &clock, kind).await;
        Scene {
            fake,
            provider,
            clock,
        }
    }

    /// What a process started anew has.
    pub(crate) async fn restarted(&self) -> RunpodProvider {
        provider(&self.fake, &self.clock, EndpointType::LoadBalancer).await
    }

    pub(crate) fn faults(&self, faults: Faults) {
        self.fake.set_faults(faults);
    }

    pub(crate) async fn create(&self, tier: Tier) -> ProviderInstance {
        self.provider.create("key", &request(tier)).await.unwrap()
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

    /// How many pods and endpoints there are.
    pub(crate) fn live(&self) -> (usize, usize) {
        let truth = self.fake.truth();
        let count = |what: &str| truth[what].as_array().unwrap().len();
        (count("pods"), count("endpoints"))
    }
}

async fn provider(fake: &FakeRunpod, clock: &Clock, kind: EndpointType) -> RunpodProvider {
    let account = Account::new(KEY.to_owned(), &fake.urls.api, clock.clone()).unwrap();
    let settings = Settings {
        job_url: fake.urls.jobs.clone(),
        pod_url: fake.urls.pod.clone(),
        endpoint_url: fake.urls.endpoint.clone(),
        endpoint_type: kind,
        ..Settings::default()
    };
    RunpodProvider::connect(Arc::new(account), settings)
        .await
        .unwrap()
}

pub(crate) fn request(tier: Tier) -> InstanceRequest {
    with(tier, json!({}))
}

pub(crate) fn with(tier: Tier, more: Value) -> InstanceRequest {
    let mut request = json!({
        "owner": "owner", "deployment": "toy", "tier": tier, "image": "image", "port": 8000,
        "gpus": 1, "ready_path": "/ping", "max_workers": 2, "idle_timeout_s": 5, "queue_delay_s": 4,
    });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    serde_json::from_value(request).unwrap()
}
