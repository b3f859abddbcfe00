//! A simulated cloud in this process, and its callers.

#![allow(dead_code)] // no test file uses all of it

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_plugin::PluginProvider;
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Provider, ProviderInstance, ProviderState};
use thermocline_sim::Settings;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub(crate) const TOKEN: &str = "token";

/// A cloud that ends with the test.
pub(crate) struct Cloud {
    pub(crate) url: String,
    pub(crate) provider: PluginProvider,
    pub(crate) http: reqwest::Client,
    _end: oneshot::Sender<()>,
}

/// Settings under which nothing takes longer than it must.
pub(crate) fn quick() -> Settings {
    Settings {
        pod_boot: Duration::from_millis(20),
        cold_start: Duration::from_millis(20),
        service_time: Duration::ZERO,
        ..Settings::default()
    }
}

pub(crate) async fn cloud(settings: Settings) -> Cloud {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (end, ended) = oneshot::channel::<()>();
    let shutdown = async {
        let _dropped = ended.await;
    };
    tokio::spawn(thermocline_sim::serve(
        listener,
        TOKEN.into(),
        settings,
        shutdown,
    ));
    Cloud {
        provider: PluginProvider::connect(&url, Some(TOKEN.into())).unwrap(),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
        url,
        _end: end,
    }
}

pub(crate) fn request(tier: Tier, env: &[(&str, &str)]) -> InstanceRequest {
    let env: BTreeMap<_, _> = env.iter().copied().collect();
    let request = json!({
        "owner": "owner", "deployment": "toy", "tier": tier, "image": "image", "port": 8000,
        "env": env, "ready_path": "/ready",
    });
    serde_json::from_value(request).unwrap()
}

impl Cloud {
    pub(crate) async fn faults(&self, faults: Value) {
        let url = format!("{}/v1/faults", self.url);
        let put = self.http.put(url).bearer_auth(TOKEN).json(&faults).send();
        assert_eq!(put.await.unwrap().status(), 204);
    }

    pub(crate) async fn create(&self, tier: Tier, env: &[(&str, &str)]) -> ProviderInstance {
        self.provider
            .create("key", &request(tier, env))
            .await
            .unwrap()
    }

    /// The instance once it is in `state`; `None` as a state is its absence.
    pub(crate) async fn await_state(
        &self,
        id: &str,
        state: Option<ProviderState>,
    ) -> Option<ProviderInstance> {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        loop {
            looks.tick().await;
            let seen = self.provider.get(id).await.unwrap();
            if seen.as_ref().map(|seen| seen.state) == state {
                return seen;
            }
        }
    }

    /// The URL of a ready instance.
    pub(crate) async fn backend(&self, tier: Tier, env: &[(&str, &str)]) -> String {
        let id = self.create(tier, env).await.id;
        let ready = self.await_state(&id, Some(ProviderState::Ready)).await;
        ready.unwrap().address.unwrap().url
    }
}
