use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_plugin::PluginProvider;
use thermocline_policy::InstanceState;
use thermocline_provider::{Provider, ProviderInstance, ProviderState, list_all};
use thermocline_sim::Endpoint;
use thermocline_store::Store;

use super::{CLOUD, Setup};
use crate::system::breathe;

impl Setup {
    /// The keys of what exists for this installation in the simulated cloud,
    /// what is being stopped left out.
    ///
    /// # Panics
    /// When there is no such cloud.
    pub async fn in_cloud(&self) -> Vec<String> {
        let file = std::fs::read(self.folder.cloud(CLOUD)).expect("a cloud runs");
        let endpoint: Endpoint = serde_json::from_slice(&file).expect("its address");
        let cloud = PluginProvider::connect(&endpoint.url, Some(endpoint.token));
        self.existing(&cloud.expect("an address")).await
    }

    /// The same of the Docker daemon at `endpoint`.
    ///
    /// # Panics
    /// When it does not answer.
    pub async fn in_docker(&self, endpoint: &str) -> Vec<String> {
        let docker = DockerProvider::connect(endpoint, Limits::default(), Clock::system());
        self.existing(&docker.expect("an endpoint")).await
    }

    /// Kills and removes every container of this installation.
    ///
    /// # Panics
    /// When the daemon does not answer.
    pub async fn end_containers(&self, endpoint: &str) {
        let limits = Limits {
            grace: Duration::ZERO,
            ..Limits::default()
        };
        let docker = DockerProvider::connect(endpoint, limits, Clock::system());
        let docker = docker.expect("an endpoint");
        loop {
            let left = self.listed(&docker).await;
            for instance in &left {
                docker
                    .delete(&instance.id)
                    .await
                    .expect("the daemon answers");
            }
            if left.is_empty() {
                return;
            }
            breathe().await;
        }
    }

    async fn existing(&self, provider: &dyn Provider) -> Vec<String> {
        let gone = [ProviderState::Stopping, ProviderState::Gone];
        let listed = self.listed(provider).await.into_iter();
        let there = listed.filter(|seen| !gone.contains(&seen.state));
        there.map(|seen| seen.key).collect()
    }

    async fn listed(&self, provider: &dyn Provider) -> Vec<ProviderInstance> {
        let store = self.store().await;
        let owner = store.owner().await.expect("an owner");
        store.close().await;
        let listed = list_all(provider, &owner).await;
        let (instances, complete) = listed.expect("the provider answers");
        assert!(complete);
        instances
    }

    /// What is written down as existing or about to: key to deployment and tier.
    ///
    /// # Panics
    /// When the store cannot be read.
    pub async fn written_down(&self) -> BTreeMap<String, String> {
        let store = self.store().await;
        let rows = store.instances().await.expect("rows");
        store.close().await;
        let there = rows
            .into_iter()
            .filter(|row| row.state != InstanceState::Gone);
        there
            .map(|row| (row.id, format!("{} on {}", row.deployment, row.tier)))
            .collect()
    }

    async fn store(&self) -> Store {
        Store::open(&self.store_url())
            .await
            .expect("the store opens")
    }
}
