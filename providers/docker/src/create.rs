//! Making the container of one key exist, whatever is there already.

use std::sync::Arc;
use std::time::Duration;

use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use thermocline_provider::{InstanceRequest, ProviderError, ProviderErrorKind, ProviderInstance};

use crate::body::create_body;
use crate::daemon::Daemon;
use crate::delete::Deletions;
use crate::fault::Fault;
use crate::pull::Pulls;
use crate::{names, state};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// One `create`: every step of it may be repeated, by us or by a second caller.
pub(crate) struct Creation<'a> {
    daemon: &'a Daemon,
    deletions: &'a Deletions,
    pulls: &'a Arc<Pulls>,
    pull_limit: Duration,
    key: &'a str,
    request: &'a InstanceRequest,
    name: String,
    body: ContainerCreateBody,
}

/// What a try ends with; `None` asks for another one.
type Tried = Result<Option<ProviderInstance>, ProviderError>;

impl<'a> Creation<'a> {
    /// The creation of `key`, checked as far as that can be without the daemon.
    ///
    /// # Errors
    /// `Invalid` for what no container of ours may be.
    pub(crate) fn new(
        provider: &'a crate::DockerProvider,
        key: &'a str,
        request: &'a InstanceRequest,
    ) -> Result<Self, ProviderError> {
        Ok(Creation {
            daemon: &provider.daemon,
            deletions: &provider.deletions,
            pulls: &provider.pulls,
            pull_limit: provider.limits.pull,
            key,
            request,
            name: names::container_name(&request.owner, key)?,
            body: create_body(key, request)?,
        })
    }

    /// Makes it so; for how long it tries is up to the caller.
    ///
    /// Docker reserves a name before there is a container to look at, so of
    /// several callers all but one have to look again.
    pub(crate) async fn run(&self) -> Result<ProviderInstance, ProviderError> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(instance) = self.attempt().await? {
                return Ok(instance);
            }
            self.daemon.clock().sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(&self) -> Tried {
        match self.daemon.make(&self.name, self.body.clone()).await {
            Ok(id) => self.start(&id).await,
            Err(fault) if fault.is_conflict() => self.meet().await,
            Err(fault) if fault.is_missing_image() => self.pull().await,
            Err(fault) => Err(fault.of_start(self.request.host_port)),
        }
    }

    /// The name is taken: by this instance, its failed start, or a stranger.
    async fn meet(&self) -> Tried {
        let Some(found) = self.daemon.inspect(&self.name).await? else {
            return Ok(None);
        };
        if !self.is_ours(&found) {
            return Err(self.taken());
        }
        let id = found.id.as_deref().unwrap_or(&self.name);
        if self.deletions.contains(id) {
            return Ok(state::instance(&found, true));
        }
        if state::is_husk(&found) {
            return self.clear(id).await;
        }
        if state::is_created(&found) {
            return self.start(id).await;
        }
        Ok(state::instance(&found, false))
    }

    async fn start(&self, id: &str) -> Tried {
        match self.daemon.start(id).await {
            Ok(()) => self.read(id).await,
            Err(fault) if fault.is_missing() => Ok(None),
            Err(fault) if fault.is_answer() => self.give_up(id, fault).await,
            Err(fault) => Err(fault.into()),
        }
    }

    /// Removes what did not start, so that it keeps neither the name nor a trace.
    ///
    /// Only when it is gone the error may say that nothing was made.
    async fn give_up(&self, id: &str, fault: Fault) -> Tried {
        match self.daemon.remove(id, false).await {
            // Another caller's start of it went well, or it is being deleted.
            Err(left) if left.is_conflict() => self.read(id).await,
            Err(left) if !left.is_missing() => Err(left.into()),
            _ => Err(fault.of_start(self.request.host_port)),
        }
    }

    async fn clear(&self, husk: &str) -> Tried {
        match self.daemon.remove(husk, false).await {
            Err(left) if !left.is_missing() && !left.is_conflict() => Err(left.into()),
            _ => Ok(None),
        }
    }

    async fn pull(&self) -> Tried {
        let image = &self.request.image;
        self.pulls.pull(image, self.daemon, self.pull_limit).await?;
        Ok(None)
    }

    async fn read(&self, id: &str) -> Tried {
        let found = self.daemon.inspect(id).await?;
        Ok(found.and_then(|f| state::instance(&f, self.deletions.contains(id))))
    }

    fn is_ours(&self, found: &ContainerInspectResponse) -> bool {
        state::label(found, names::OWNER) == Some(&self.request.owner)
            && state::label(found, names::INSTANCE) == Some(self.key)
    }

    fn taken(&self) -> ProviderError {
        let detail = format!(
            "a container that is not of this instance is named `{}`",
            self.name
        );
        ProviderError::new(ProviderErrorKind::Invalid, detail)
    }
}
