//! The fleet as the control plane sees it: an instance is a queue.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_edge::Lifecycle;
use thermocline_policy::Tier;
use thermocline_provider::{
    Address, Capabilities, Deletion, InstancePage, InstanceRequest, Offer, OfferQuery, Provider,
    ProviderError, ProviderErrorKind, ProviderInstance, ProviderState,
};
use thermocline_wire::fleet::DEPLOYMENT_HEADER as DEPLOYMENT;
use thermocline_wire::provider::PROTOCOL;

use crate::deployments::{Instance, model};
use crate::hub::Hub;
use crate::intake::TOKEN;
use crate::settings::Settings;
use crate::{announce, server};

/// The shared fleet's gateway side. Everything parked in it ends when it is dropped.
pub struct Fleet {
    pub(crate) hub: Arc<Hub>,
    /// Where the gateway's requests are taken in.
    intake: String,
    /// Held while the workers' listener is being started.
    starting: tokio::sync::Mutex<()>,
    lifecycle: Lifecycle,
}

/// How the worker in this process reaches its gateway.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnWorker {
    /// The token that it uses.
    pub token: String,
}

impl Fleet {
    /// A fleet whose jobs go through `broker`.
    ///
    /// # Errors
    /// `host_misconfigured` or `port_conflict` when one cannot listen.
    pub async fn connect(
        settings: Settings,
        broker: Arc<dyn Broker>,
        clock: Clock,
    ) -> Result<Self, ProviderError> {
        let hub = Arc::new(Hub::new(settings, broker, clock));
        let lifecycle = Lifecycle::default();
        let any = ([127, 0, 0, 1], 0).into();
        let intake = server::serve(&hub, any, &lifecycle, |hub, request| async move {
            hub.serve_gateway(request).await
        });
        let intake = intake.map_err(|error| cannot_listen(&error))?;
        let fleet = Fleet {
            intake: format!("http://{intake}"),
            starting: tokio::sync::Mutex::default(),
            lifecycle,
            hub,
        };
        if fleet.hub.settings.listen_at_once {
            fleet.open().await?;
        }
        Ok(fleet)
    }

    /// The credentials of the worker in this process.
    pub fn own_worker(&self) -> OwnWorker {
        OwnWorker {
            token: self.hub.own_token.clone(),
        }
    }

    /// Where workers reach this gateway; `None` before the first deployment.
    pub fn reply_to(&self) -> Option<&str> {
        self.hub.reply_to.get().map(String::as_str)
    }

    /// Answers workers from now on, and hears and tells what is announced.
    async fn open(&self) -> Result<(), ProviderError> {
        let _one = self.starting.lock().await;
        if self.hub.reply_to.get().is_some() {
            return Ok(());
        }
        let settings = &self.hub.settings;
        let bound = server::serve(
            &self.hub,
            settings.listen,
            &self.lifecycle,
            |hub, request| async move { hub.serve_worker(request).await },
        );
        let bound = bound.map_err(|error| cannot_listen(&error))?;
        let reached = settings.advertise.clone();
        let reached = reached.unwrap_or_else(|| format!("http://{bound}"));
        let _first = self.hub.reply_to.set(reached);
        announce::start(&self.hub, &self.lifecycle.abort);
        let (wanted, most) = (settings.max_parked, self.hub.lounge.most_places());
        if most < wanted {
            tracing::warn!(
                "the limit of open files lets {most} requests be parked, not the {wanted} of \
                 fleet.max_parked: raise it (LimitNOFILE= of systemd)"
            );
        }
        Ok(())
    }

    fn shown(&self, key: &str, instance: &Instance) -> ProviderInstance {
        let headers = [(DEPLOYMENT, instance.deployment.as_str()), (TOKEN, "")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let address = Address {
            url: self.intake.clone(),
            headers: BTreeMap::from(headers),
            own_host: false,
            remaining: true,
        };
        ProviderInstance {
            id: key.to_owned(),
            key: key.to_owned(),
            owner: instance.owner.clone(),
            state: ProviderState::Ready,
            address: Some(address),
            usd_per_hour: Some(0.0),
            detail: String::new(),
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.lifecycle.abort.cancel();
    }
}

#[async_trait]
impl Provider for Fleet {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(Capabilities {
            protocol: PROTOCOL,
            name: "fleet".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tiers: vec![Tier::Serverless],
            prices: false,
            lifetimes: false,
            checks: false,
        })
    }

    async fn offers(&self, _query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        Ok(Vec::new())
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        // What can never be run opens no port.
        model(request)?;
        self.open().await?;
        let instance = self.hub.deployments().add(key, request)?;
        self.hub.redeployed();
        Ok(self.shown(key, &instance))
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let deployments = self.hub.deployments();
        let instance = deployments.instance(id);
        Ok(instance.map(|instance| self.shown(id, instance)))
    }

    async fn list(&self, owner: &str, _: Option<&str>) -> Result<InstancePage, ProviderError> {
        // Whoever asks how the fleet is learns it by this.
        self.hub.broker.available().map_err(|error| {
            let why = error.obstacle().to_string();
            ProviderError::new(ProviderErrorKind::Unavailable, why)
        })?;
        let deployments = self.hub.deployments();
        let of_owner = deployments.of(owner);
        Ok(InstancePage {
            instances: of_owner.map(|(key, it)| self.shown(key, it)).collect(),
            next: None,
            complete: true,
        })
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let removed = self.hub.deployments().remove(id);
        let Some(gone) = removed else {
            return Ok(Deletion::Unknown);
        };
        if let Some(deployment) = gone {
            self.hub.lot().withdraw(&deployment);
            self.hub.seats().forget(&deployment);
        }
        self.hub.redeployed();
        Ok(Deletion::Accepted)
    }

    fn forgets(&self) -> bool {
        true
    }

    fn hands_over(&self) -> bool {
        true
    }

    fn voucher(&self) -> Option<&str> {
        Some(&self.hub.voucher)
    }

    fn reach(&self, address: &Address) -> Address {
        let mut reached = address.clone();
        reached.url.clone_from(&self.intake);
        let token = self.hub.gateway_token.clone();
        reached.headers.insert(TOKEN.to_owned(), token);
        reached
    }
}

fn cannot_listen(error: &io::Error) -> ProviderError {
    match error.kind() {
        io::ErrorKind::AddrInUse => ProviderError::new(
            ProviderErrorKind::PortConflict,
            "the port where workers are answered is taken: choose another with fleet.listen",
        ),
        _ => ProviderError::new(
            ProviderErrorKind::HostMisconfigured,
            "the address where workers are answered cannot be had: see fleet.listen",
        ),
    }
}
