//! A Vast.ai that costs nothing: a market of offers and instances, on loopback.
//!
//! It keeps its own truth of what exists and what that has cost, refuses what
//! the published schema refuses, and goes wrong in every way that it is told
//! to ([`Faults`]). Instances answer true HTTP, each at a port of its own.

mod admin;
mod api;
mod container;
mod faults;
mod instances;
mod market;
mod no;
mod rent;
mod service;
mod settings;
mod spacing;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use thermocline_clock::Clock;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use faults::{BodyFault, Faults, ListFault};
pub use settings::Settings;

use instances::Phase;
use service::Service;

/// A running fake; it ends when dropped.
pub struct FakeVast {
    /// Where it listens, in place of `https://console.vast.ai`.
    pub url: String,
    service: Arc<Service>,
    _end: DropGuard,
}

impl FakeVast {
    /// Starts one for the bearer of `key` at `listen`.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn start(
        listen: SocketAddr,
        key: &str,
        clock: Clock,
        settings: Settings,
    ) -> io::Result<Self> {
        let service = Service::new(clock, settings, key.to_owned());
        let end = CancellationToken::new();
        let listener = TcpListener::bind(listen).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let routes = admin::routes(service.clone()).merge(api::routes(service.clone()));
        let over = end.clone();
        tokio::spawn(async move {
            let served = axum::serve(listener, routes);
            over.run_until_cancelled(served.into_future()).await
        });
        Ok(FakeVast {
            url,
            service,
            _end: end.drop_guard(),
        })
    }

    /// A fake on any free port.
    ///
    /// # Errors
    /// When there is none.
    pub async fn anywhere(key: &str, clock: Clock, settings: Settings) -> io::Result<Self> {
        FakeVast::start((Ipv4Addr::LOCALHOST, 0).into(), key, clock, settings).await
    }

    /// Replaces what is to go wrong.
    pub fn set_faults(&self, faults: Faults) {
        self.service.lock().faults = faults;
    }

    /// What exists and what it has cost: `instances`, each with `id`, `label`,
    /// `gpu_name`, `status`, `is_bid` and `usd`; `made`, `usd_of_destroyed`, `calls`.
    pub fn truth(&self) -> Value {
        self.service.truth()
    }

    /// The calls so far, as `METHOD /path`.
    pub fn calls(&self) -> Vec<String> {
        self.service.lock().calls.clone()
    }

    /// F12: an instance ceases to exist without a trace; false when there is none.
    pub fn vanish(&self, id: u64) -> bool {
        self.service.vanish(id)
    }

    /// An instance's container exits; false when there is none.
    pub fn exit(&self, id: u64) -> bool {
        self.service.end(id, Phase::Exited)
    }

    /// Somebody bids more: an instance is stopped that is meant to run; false
    /// when there is none.
    pub fn outbid(&self, id: u64) -> bool {
        self.service.end(id, Phase::Outbid)
    }

    /// F13: somebody else's instance of that label, in the same account; its id.
    ///
    /// # Panics
    /// When nothing is left to rent.
    pub fn stranger(&self, label: &str) -> u64 {
        self.service.stranger(label).expect("something is for rent")
    }
}

impl Drop for FakeVast {
    fn drop(&mut self) {
        for instance in self.service.lock().instances.values() {
            instance.life.cancel();
        }
    }
}
