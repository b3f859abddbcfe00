use std::net::SocketAddr;
use std::sync::Arc;

use thermocline_policy::{Moment, Tier};
use thermocline_wire::provider::{Address, InstanceRequest, ProviderInstance, ProviderState};
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;

/// What the cloud knows of one instance.
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) request: Arc<InstanceRequest>,
    pub(crate) state: ProviderState,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) detail: String,
    /// When it ends by itself, unless that is put off.
    pub(crate) ends_at: Moment,
    /// Cancelled when it is to end.
    pub(crate) life: CancellationToken,
}

impl Entry {
    pub(crate) fn is(&self, owner: &str, key: &str) -> bool {
        self.request.owner == owner && self.key == key
    }

    /// Whether it takes one of the places for pods.
    pub(crate) fn takes_place(&self) -> bool {
        self.request.tier == Tier::Pod && self.state != ProviderState::Stopping
    }

    /// Ends it, with the work that it has in hand.
    pub(crate) fn stop(&mut self) {
        self.state = ProviderState::Stopping;
        self.address = None;
        self.life.cancel();
    }

    /// What the protocol says of it.
    pub(crate) fn describe(&self, id: &str, settings: &Settings) -> ProviderInstance {
        let pod = self.request.tier == Tier::Pod;
        ProviderInstance {
            id: id.to_owned(),
            key: self.key.clone(),
            owner: self.request.owner.clone(),
            state: self.state,
            address: self.address.map(|socket| Address {
                url: format!("http://{socket}"),
                ..Address::default()
            }),
            usd_per_hour: pod.then_some(settings.usd_per_hour),
            detail: self.detail.clone(),
        }
    }
}
