//! Starting one instance and making it absent.

use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::{Moment, Tier};
use thermocline_provider::{
    InstanceRequest, Provider, ProviderError, ProviderErrorKind, ProviderInstance, ProviderState,
};
use thermocline_wire::fleet::{Model, Shape};

use super::super::forward::{Forward, NoStatus};
use super::pool::Member;
use crate::LoadError;

const FIRST_LOOK: Duration = Duration::from_millis(20);
const SLOWEST_LOOK: Duration = Duration::from_secs(1);
/// How long an instance may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// What one instance takes to start, and the time for it.
pub(super) struct Start<'a> {
    pub(super) provider: &'a dyn Provider,
    pub(super) forward: &'a Forward,
    pub(super) clock: &'a Clock,
    pub(super) model: &'a Model,
    pub(super) deadline: Moment,
    /// Whether it was running before: it may load on, but it must not be silent.
    pub(super) goes_on: bool,
}

impl Start<'_> {
    /// Makes the instance `key` exist and waits until it is ready. Only its own
    /// end or the deadline ends the wait: a slow load is a load.
    pub(super) async fn ready(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<Member, LoadError> {
        let created = self.created(key, request).await?;
        let mut pause = FIRST_LOOK;
        loop {
            match self.look(&created.id).await? {
                Some(member) => return Ok(member),
                None => self.pause(&mut pause, "it was not ready in time").await?,
            }
        }
    }

    /// The same create with the same key is how to look after an answer that never came.
    async fn created(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, LoadError> {
        let mut pause = FIRST_LOOK;
        loop {
            match self.provider.create(key, request).await {
                Ok(instance) => return Ok(instance),
                Err(error) if error.transient() => self.pause(&mut pause, &error.detail).await?,
                Err(error) => return Err(refused(&error)),
            }
        }
    }

    async fn look(&self, id: &str) -> Result<Option<Member>, LoadError> {
        let found = match self.provider.get(id).await {
            Ok(found) => found,
            Err(error) if error.transient() => return Ok(None),
            Err(error) => return Err(refused(&error)),
        };
        let Some(instance) = found else {
            return Err(ended("it is gone"));
        };
        match (instance.state, instance.address) {
            (ProviderState::Failed | ProviderState::Gone, _) => Err(ended(&instance.detail)),
            (ProviderState::Ready, Some(address)) => {
                let address = self.provider.reach(&address);
                let status = self.forward.status(&address, &self.model.ready_path).await;
                if self.goes_on && status == Err(NoStatus::Silent) {
                    return Err(LoadError::OutOfCapacity("it is silent".into()));
                }
                let ready = status.is_ok_and(|status| is_ready(status, self.model));
                let id = instance.id;
                Ok(ready.then_some(Member { id, address }))
            }
            _ => Ok(None),
        }
    }

    async fn pause(&self, pause: &mut Duration, late: &str) -> Result<(), LoadError> {
        if self.clock.now() >= self.deadline {
            return Err(LoadError::OutOfCapacity(late.to_owned()));
        }
        self.clock.sleep(*pause).await;
        *pause = (*pause * 2).min(SLOWEST_LOOK);
        Ok(())
    }
}

/// Makes the instance `id` absent: asked until the provider does not know it.
pub(super) async fn gone(
    provider: &dyn Provider,
    clock: &Clock,
    id: &str,
) -> Result<(), LoadError> {
    let deadline = clock.now() + GONE_WITHIN;
    let mut pause = FIRST_LOOK;
    loop {
        let deletion = provider.delete(id).await;
        if deletion.is_ok() && is_absent(provider, id).await {
            return Ok(());
        }
        if clock.now() >= deadline {
            return Err(LoadError::OutOfCapacity("an instance does not go".into()));
        }
        clock.sleep(pause).await;
        pause = (pause * 2).min(SLOWEST_LOOK);
    }
}

/// Whether the provider says that `id` is no more.
pub(super) async fn is_absent(provider: &dyn Provider, id: &str) -> bool {
    match provider.get(id).await {
        Ok(found) => found.is_none_or(|instance| instance.state == ProviderState::Gone),
        Err(_) => false,
    }
}

/// Where the model names no statuses, whatever answers without a fault is ready.
fn is_ready(status: u16, model: &Model) -> bool {
    match model.ready_status.is_empty() {
        true => status < 500,
        false => model.ready_status.contains(&status),
    }
}

fn ended(detail: &str) -> LoadError {
    LoadError::Incompatible(format!("it ended while it was loading: {detail}"))
}

fn refused(error: &ProviderError) -> LoadError {
    let detail = error.detail.clone();
    match error.kind {
        ProviderErrorKind::Invalid | ProviderErrorKind::Auth => LoadError::Incompatible(detail),
        _ => LoadError::OutOfCapacity(detail),
    }
}

/// What to ask the provider for.
pub(super) fn request(model: &Model, owner: &str, tier: Tier) -> InstanceRequest {
    let terms = &model.terms;
    let (vram_mib, memory_mib) = match terms.shape {
        Shape::Gpu => (terms.memory_mib, 0),
        Shape::Cpu => (0, terms.memory_mib),
    };
    InstanceRequest {
        owner: owner.to_owned(),
        deployment: model.deployment.clone(),
        tier,
        offer: None,
        image: model.image.clone(),
        command: model.command.clone(),
        args: model.args.clone(),
        env: model.env.clone(),
        port: model.port,
        vram_mib,
        gpus: model.gpus,
        gpu: Vec::new(),
        ready_path: model.ready_path.clone(),
        idle_timeout_s: 0,
        max_workers: 0,
        queue_delay_s: 0,
        cpus: 0.0,
        memory_mib,
        max_lifetime_s: 0,
        devices: Vec::new(),
        host_port: None,
        fleet: None,
    }
}
