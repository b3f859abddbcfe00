//! The request plane's wish for capacity.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thermocline_policy::{InstanceState, Moment, Tier, Transition};
use thermocline_table::{BackendPermit, Deployment, GIVEN_UP, StartFailed, Wake, Wish};

use crate::capacity::any;
use crate::control::ControlPlane;
use crate::instance::Instance;
use crate::probe::Readiness;

#[async_trait]
impl Wake for ControlPlaneHandle {
    async fn wake(
        &self,
        live: &Arc<Deployment>,
        tier: Tier,
        wish: &Arc<Wish>,
    ) -> Result<(), StartFailed> {
        self.0.wake(live, tier, wish).await
    }

    fn transitioned(&self, live: &Arc<Deployment>, transition: Transition, now: Moment) {
        self.0.note_transition(live, transition, now);
    }

    async fn is_missing(&self, instance: &str) -> bool {
        self.0.is_missing(instance).await
    }

    async fn is_gone(&self, instance: &str) -> bool {
        self.0.is_gone(instance).await
    }
}

/// The control plane as the request plane reaches it.
struct ControlPlaneHandle(Arc<ControlPlane>);

impl ControlPlane {
    /// What the request plane is given.
    pub fn handle(self: &Arc<Self>) -> Arc<dyn Wake> {
        Arc::new(ControlPlaneHandle(self.clone()))
    }

    /// Brings `tier` up; returns once a backend of it takes work. Nothing is begun for a
    /// `wish` that was given up.
    pub(crate) async fn wake(
        self: &Arc<Self>,
        live: &Arc<Deployment>,
        tier: Tier,
        wish: &Arc<Wish>,
    ) -> Result<(), StartFailed> {
        let gone = || called_off("deleting", "the deployment is gone");
        let deployment = self.deployment(&live.name).ok_or_else(gone)?;
        if deployment
            .with_spec(|spec| self.silent(spec, tier))
            .is_none()
        {
            self.know_price(&deployment, tier).await;
        }
        if wish.is_given_up() {
            return Err(given_up());
        }
        let mut changes = deployment.watch();
        let _requested = deployment.request(tier, wish);
        self.nudge(&deployment);
        loop {
            let config = live.config.load_full();
            if live.capacity.load().serves(tier) {
                return Ok(());
            }
            if config.deleting {
                return Err(called_off("deleting", "the deployment is being torn down"));
            }
            if config.stopped {
                return Err(called_off("stopped", "the deployment was stopped"));
            }
            if !config.spec.tiers.set().has(tier) {
                return Err(called_off(
                    "no_capacity",
                    "the deployment has no such tier any more",
                ));
            }
            if let Some(error) = self.braked(&deployment, tier) {
                return Err(error);
            }
            if let Some(error) = self.silent(&config.spec, tier) {
                return Err(error);
            }
            // Where one could not be started, another that starts may serve all.
            let starts = any(&deployment.instances(), tier, InstanceState::is_starting);
            let refusal = deployment.backing_off(tier, self.clock.now());
            if let Some(error) = refusal.filter(|_| !starts) {
                return Err(error);
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = wish.given_up(), if !starts => return Err(given_up()),
                () = self.drain.cancelled() => return Err(called_off("draining", "the server is shutting down")),
            }
        }
    }
}

impl ControlPlane {
    /// Has a serverless endpoint that is there start a worker: asks it for its ready
    /// path, as a request would, until it answers or the time of a start is over.
    ///
    /// The worker that it waits for is paid for, so it counts as work in hand.
    pub(crate) async fn warm_up(&self, live: &Arc<Deployment>) {
        let endpoint = |it: &Arc<Instance>| it.tier == Tier::Serverless && it.state().is_ready();
        let Some(deployment) = self.deployment(&live.name) else {
            return;
        };
        let Some(instance) = deployment.instances().into_iter().find(endpoint) else {
            return;
        };
        let health = deployment.with_spec(|spec| spec.health.clone());
        let deadline = self.clock.now() + health.start_timeout;
        let mut paid = None;
        while self.clock.now() < deadline && instance.state().is_ready() && !self.is_off(live) {
            let Some(address) = instance.address() else {
                return;
            };
            if self.probe.readiness(&address, &health.ready).await == Readiness::Ready {
                live.traffic[Tier::Serverless].touch(self.clock.now());
                return self.nudge(&deployment);
            }
            if paid.is_none() {
                let backend = instance.backend();
                paid = backend.and_then(|backend| BackendPermit::take(live, &backend));
            }
            tokio::select! {
                () = self.clock.sleep(health.ready.interval) => {}
                () = self.drain.cancelled() => return,
            }
        }
    }

    fn is_off(&self, live: &Deployment) -> bool {
        let config = live.config.load();
        config.deleting || config.stopped
    }
}

fn given_up() -> StartFailed {
    called_off(GIVEN_UP, "nobody waited for it any more")
}

fn called_off(code: &'static str, detail: &str) -> StartFailed {
    StartFailed {
        code,
        detail: detail.to_owned(),
        retry_after: Duration::from_secs(1),
    }
}
