use std::net::TcpListener;
use std::sync::Arc;

use thermocline_policy::{Moment, Tier};
use thermocline_wire::provider::{InstanceRequest, ProviderInstance, ProviderState};
use tokio_util::sync::CancellationToken;

use super::offers::offer_id;
use super::{Cloud, State};
use crate::entry::Entry;
use crate::instance::{self, Birth};
use crate::overrides::Overrides;
use crate::refusal::Refusal;
use crate::settings::Settings;

/// What a create came to.
pub(crate) struct Created {
    /// The instance that now exists.
    pub(crate) instance: ProviderInstance,
    /// Whether it did not before.
    pub(crate) new: bool,
    /// Whether the reply is to be lost, for a test.
    pub(crate) drop_reply: bool,
}

impl Cloud {
    /// Makes the instance `key` exist, or finds the one that does.
    pub(crate) fn create(
        self: &Arc<Self>,
        key: &str,
        request: InstanceRequest,
    ) -> Result<Created, Refusal> {
        let overrides = check(&request)?;
        let settings = self.settings.get();
        let mut state = self.lock();
        if state.faults.take_failed_create() {
            return Err(Refusal::unavailable("failed on request"));
        }
        let known = state
            .instances
            .iter()
            .find(|(_, it)| it.is(&request.owner, key));
        let known = known.map(|(id, entry)| entry.describe(id, &settings));
        let (instance, new) = match known {
            Some(instance) => (instance, false),
            None => {
                state.has_room(request.tier, &overrides, &settings)?;
                let ends_at = self.end_of(request.max_lifetime_s);
                let birth = state.insert(key, request, overrides, ends_at)?;
                let instance = state.instances[&birth.id].describe(&birth.id, &settings);
                tokio::spawn(self.clone().end_when_due(birth.id.clone()));
                instance::start(self.clone(), birth);
                (instance, true)
            }
        };
        let drop_reply = state.faults.take_dropped_reply();
        Ok(Created {
            instance,
            new,
            drop_reply,
        })
    }
}

impl State {
    fn has_room(
        &self,
        tier: Tier,
        overrides: &Overrides,
        settings: &Settings,
    ) -> Result<(), Refusal> {
        if self.retired {
            return Err(Refusal::unavailable("the simulated cloud is about to end"));
        }
        let full = tier == Tier::Pod && self.pods() >= settings.capacity as usize;
        if full || overrides.no_capacity || self.faults.no_capacity {
            return Err(Refusal::no_capacity());
        }
        Ok(())
    }

    pub(super) fn pods(&self) -> usize {
        self.instances
            .values()
            .filter(|entry| entry.takes_place())
            .count()
    }

    /// Writes a new instance down; an endpoint listens from the start, a pod once it has booted.
    fn insert(
        &mut self,
        key: &str,
        request: InstanceRequest,
        overrides: Overrides,
        ends_at: Moment,
    ) -> Result<Birth, Refusal> {
        let listener = (request.tier == Tier::Serverless)
            .then(listen)
            .transpose()?;
        let address = listener
            .as_ref()
            .and_then(|socket| socket.local_addr().ok());
        self.serial += 1;
        let id = format!("{}-{:08}", self.prefix, self.serial);
        let entry = Entry {
            key: key.to_owned(),
            request: Arc::new(request),
            state: address.map_or(ProviderState::Starting, |_| ProviderState::Ready),
            address,
            detail: String::new(),
            ends_at,
            life: CancellationToken::new(),
        };
        let birth = Birth {
            id: id.clone(),
            request: entry.request.clone(),
            overrides,
            listener,
            life: entry.life.clone(),
        };
        self.instances.insert(id, entry);
        Ok(birth)
    }
}

fn listen() -> Result<TcpListener, Refusal> {
    instance::listen().map_err(|_| Refusal::unavailable("no port of this machine can be had"))
}

fn check(request: &InstanceRequest) -> Result<Overrides, Refusal> {
    let wrong = match () {
        () if request.owner.is_empty() => Some("owner is empty"),
        () if request.image.is_empty() => Some("image is empty"),
        () if request.port == 0 => Some("port is 0"),
        () if !matches!(request.tier, Tier::Serverless | Tier::Pod) => {
            Some("tier must be serverless or pod")
        }
        () => None,
    };
    if let Some(wrong) = wrong {
        return Err(Refusal::invalid(wrong));
    }
    let offer = request.offer.as_deref();
    if offer.is_some_and(|offer| Some(offer) != offer_id(request.tier)) {
        return Err(Refusal::invalid("there is no such offer"));
    }
    Overrides::from_env(&request.env).map_err(Refusal::invalid)
}
