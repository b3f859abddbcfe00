//! Containers of the Docker daemon on this machine, as instances of the tier
//! `local`.
//!
//! A container is named after its instance key and carries its owner as a
//! label; both together make [`create`](thermocline_provider::Provider::create)
//! idempotent, and nothing without our owner label is ever touched. The daemon
//! is the only memory: the adapter keeps no list of its own, so a daemon that
//! goes away and comes back, or a restart of this process, loses nothing.
//!
//! `body` decides what a container may do, `create` and `delete` change what
//! exists, `state` reads it, `fault` says whose fault a refusal is, and `daemon`
//! is the way there.

mod body;
mod calls;
mod create;
mod daemon;
mod delete;
mod fault;
mod names;
mod provider;
mod pull;
mod redact;
mod state;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_provider::ProviderError;

use crate::daemon::Daemon;
use crate::delete::Deletions;
use crate::pull::Pulls;

/// How long the adapter waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For any call but `create`.
    pub call: Duration,
    /// For `create`; an image that takes longer goes on being pulled.
    pub create: Duration,
    /// For one image to be pulled.
    pub pull: Duration,
    /// Between SIGTERM and SIGKILL, whole seconds.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            call: Duration::from_secs(10),
            create: Duration::from_secs(60),
            pull: Duration::from_secs(60 * 60),
            grace: Duration::from_secs(10),
        }
    }
}

/// The provider `docker`; cheap to clone.
///
/// A daemon that is absent, slow or restarted makes calls fail with
/// [`Unavailable`](thermocline_provider::ProviderErrorKind::Unavailable) and
/// needs no new provider when it is back.
#[derive(Debug, Clone)]
pub struct DockerProvider {
    daemon: Daemon,
    limits: Limits,
    deletions: Deletions,
    pulls: Arc<Pulls>,
}

impl DockerProvider {
    /// An adapter for the daemon at `endpoint`, `unix:///…` or `tcp://host:port`.
    ///
    /// Nothing is asked yet. Containers are published on the daemon's loopback
    /// interface, so the daemon must run on this machine.
    ///
    /// # Errors
    /// [`Invalid`](thermocline_provider::ProviderErrorKind::Invalid) for another endpoint.
    pub fn connect(endpoint: &str, limits: Limits, clock: Clock) -> Result<Self, ProviderError> {
        Ok(DockerProvider {
            daemon: Daemon::at(endpoint, clock)?,
            limits,
            deletions: Deletions::default(),
            pulls: Arc::default(),
        })
    }

    /// Whether `image` is on the daemon's machine; nothing is pulled.
    ///
    /// # Errors
    /// [`Unavailable`](thermocline_provider::ProviderErrorKind::Unavailable) when the daemon does not say.
    pub async fn has_image(&self, image: &str) -> Result<bool, ProviderError> {
        let asked = async { Ok(self.daemon.has_image(image).await?) };
        self.daemon.within(self.limits.call, asked).await
    }
}
