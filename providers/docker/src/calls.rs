//! The requests to the daemon that we make, each once.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
    StopContainerOptionsBuilder,
};

use crate::daemon::Daemon;
use crate::fault::Fault;
use crate::names;

impl Daemon {
    /// Whether it answers.
    pub(crate) async fn ping(&self) -> Result<(), Fault> {
        self.ask(|docker| async move { docker.ping().await })
            .await?;
        Ok(())
    }

    /// Makes a container and returns its id.
    pub(crate) async fn make(
        &self,
        name: &str,
        body: ContainerCreateBody,
    ) -> Result<String, Fault> {
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        let made = self
            .ask(|docker| async move { docker.create_container(Some(options), body).await })
            .await?;
        Ok(made.id)
    }

    /// Starts a container; one that runs stays as it is.
    pub(crate) async fn start(&self, id: &str) -> Result<(), Fault> {
        self.ask(|docker| async move { docker.start_container(id, None).await })
            .await
    }

    /// A container by id or name; `None` when there is none.
    pub(crate) async fn inspect(
        &self,
        id: &str,
    ) -> Result<Option<ContainerInspectResponse>, Fault> {
        let found = self
            .ask(|docker| async move { docker.inspect_container(id, None).await })
            .await;
        match found {
            Err(fault) if fault.is_missing() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Whether an image is on this machine.
    pub(crate) async fn has_image(&self, image: &str) -> Result<bool, Fault> {
        let found = self
            .ask(|docker| async move { docker.inspect_image(image).await })
            .await;
        match found {
            Err(fault) if fault.is_missing() => Ok(false),
            found => found.map(|_| true),
        }
    }

    /// The ids of all containers of `owner`, running or not.
    pub(crate) async fn ids(&self, owner: &str) -> Result<Vec<String>, Fault> {
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&of_owner(owner))
            .build();
        let found = self
            .ask(|docker| async move { docker.list_containers(Some(options)).await })
            .await?;
        Ok(found.into_iter().filter_map(|c| c.id).collect())
    }

    /// SIGTERM, and SIGKILL `grace` (whole seconds) later.
    pub(crate) async fn stop(&self, id: &str, grace: Duration) -> Result<(), Fault> {
        let seconds = i32::try_from(grace.as_secs()).unwrap_or(i32::MAX);
        let options = StopContainerOptionsBuilder::new().t(seconds).build();
        self.ask(|docker| async move { docker.stop_container(id, Some(options)).await })
            .await
    }

    /// Removes a container with its anonymous volumes; one that runs only with `force`.
    pub(crate) async fn remove(&self, id: &str, force: bool) -> Result<(), Fault> {
        let options = RemoveContainerOptionsBuilder::new()
            .v(true)
            .force(force)
            .build();
        self.ask(|docker| async move { docker.remove_container(id, Some(options)).await })
            .await
    }
}

/// The filter that keeps everybody else's containers out.
pub(crate) fn of_owner(owner: &str) -> HashMap<String, Vec<String>> {
    let label = format!("{}={owner}", names::OWNER);
    HashMap::from([("label".to_owned(), vec![label])])
}
