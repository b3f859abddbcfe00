use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use thermocline_policy::{InstanceState, Tier};
use thermocline_provider::{Provider, ProviderError};

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::Instance;
use crate::provider::Registered;

/// Between two attempts of one endpoint while its provider refuses.
const PAUSE: Duration = Duration::from_secs(30);
/// Endpoints at a time.
const AT_ONCE: usize = 8;

impl ControlPlane {
    /// Gives the endpoints of `provider` as many workers as their deployments now
    /// say, where it does so in place.
    pub(super) async fn resize_endpoints(&self, provider: &Arc<Registered>) {
        if !provider.adapter.resizes() {
            return;
        }
        let of = |deployment: Arc<Controlled>| {
            let instances = deployment.instances().into_iter();
            instances.map(move |instance| (deployment.clone(), instance))
        };
        let all = self.all().into_iter().flat_map(of);
        let own = all.filter(|(_, instance)| instance.provider.name == provider.name);
        let own: Vec<_> = own.collect();
        // Together: one that is not answered holds none of the others up.
        stream::iter(own)
            .for_each_concurrent(AT_ONCE, |(deployment, endpoint)| async move {
                self.resize(&deployment, &endpoint).await;
            })
            .await;
    }

    async fn resize(&self, deployment: &Controlled, endpoint: &Instance) {
        let tier = deployment.with_spec(|spec| spec.tiers.serverless.clone());
        let (Some(tier), Some(id)) = (tier, living(endpoint)) else {
            return;
        };
        let max_workers = tier.max_workers;
        if !endpoint.is_resize_due(max_workers, self.clock.now(), PAUSE) {
            return;
        }
        let before = endpoint.resize_failed();
        match endpoint.provider.adapter.resize(&id, max_workers).await {
            Ok(true) => endpoint.resized(),
            Ok(false) => {} // lists tell whether it is gone
            Err(error) => {
                let why = not_resized(&endpoint.provider, max_workers, &error);
                if before.as_ref() != Some(&why) {
                    self.tell_instance(deployment, endpoint, "not_resized", &why);
                }
                endpoint.not_resized(why);
            }
        }
    }

    /// Why endpoints of the deployment have other numbers of workers than it says.
    pub(crate) fn unresized(&self, deployment: &Controlled) -> Vec<String> {
        let instances = deployment.instances().into_iter();
        instances.filter_map(|it| it.resize_failed()).collect()
    }
}

/// The provider's id of an endpoint that exists and stays.
fn living(instance: &Instance) -> Option<String> {
    use InstanceState::{Ready, Starting};
    let state = instance.state();
    let stays = matches!(state, Starting { .. } | Ready { .. });
    let id = state.provider_id().filter(|_| stays);
    id.filter(|_| instance.tier == Tier::Serverless)
        .map(str::to_owned)
}

fn not_resized(provider: &Registered, max_workers: u32, error: &ProviderError) -> String {
    format!(
        "tiers.serverless.max_workers: {max_workers} is not in force yet at {}: {error}",
        provider.name
    )
}
