use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, Moment, NanoUsd, Tier};
use thermocline_provider::{Address, Provider, ProviderInstance, ProviderState, check_address};
use thermocline_store::InstanceChanges;
use thermocline_table::{BackendPermit, StartFailed};

use super::Instance;
use super::create::price;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::probe::Readiness;

/// How often the provider is asked while an instance starts.
const ASK_EVERY: Duration = Duration::from_secs(1);
const FIRST_ASK: Duration = Duration::from_millis(100);
/// Answers of "unknown" in a row after which an instance that is not too young
/// to be known is believed to be gone.
const MOST_UNKNOWN: u32 = 5;
/// Answers of "ready" without an address in a row after which none is expected.
const MOST_UNADDRESSED: u32 = 10;

/// What is known of a start in progress.
#[derive(Default)]
struct Progress {
    address: Option<(Address, Option<NanoUsd>)>,
    passes: u32,
    /// Whether it said that something of it boots.
    boots: bool,
    unknown: u32,
    /// Whether somebody else ended it, as a person does who deletes it by hand.
    vanished: bool,
    /// Answers in a row of "ready" without an address.
    unaddressed: u32,
    /// Whose address it was given, where it is another's.
    clash: Option<(Address, String)>,
    next_ask: Moment,
    asks: u32,
}

impl ControlPlane {
    /// Waits until it is ready, has failed, or its time is over.
    pub(super) async fn await_ready(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        provider_id: &str,
    ) {
        let health = deployment.with_spec(|spec| spec.health.clone());
        let deadline = instance.since + health.start_timeout;
        let mut progress = Progress::default();
        while instance.state().is_starting() && !self.drain.is_cancelled() {
            if self.clock.now() >= deadline {
                let detail = progress.too_late();
                return self
                    .give_up(deployment, instance, failed("start_timeout", detail))
                    .await;
            }
            if let Some(error) = self.ask(instance, provider_id, &mut progress).await {
                return match progress.vanished && deployment.begins_anew(instance.tier) {
                    true => drop(self.end(deployment, instance, &error.detail).await),
                    false => self.give_up(deployment, instance, error).await,
                };
            }
            if let Some((address, price)) = progress.address.clone() {
                self.cold_starts.booted(&instance.id, self.clock.now());
                let reached = instance.provider.adapter.reach(&address);
                let readiness = self.probe.readiness(&reached, &health.ready).await;
                progress.boots |= readiness == Readiness::Initializing;
                progress.passes = match readiness {
                    Readiness::Ready => progress.passes + 1,
                    Readiness::Initializing | Readiness::NotReady => 0,
                };
                if progress.passes >= health.ready.successes {
                    if let Some(other) = self.other_at(instance, &address).await {
                        let why = self.wait_for_address(deployment, instance, &other).await;
                        progress.clash = Some((address, why));
                        continue;
                    }
                    self.became_ready(deployment, instance, &address, price)
                        .await;
                    if progress.boots {
                        count_worker(deployment, instance);
                    }
                    return;
                }
            }
            let wait = match progress.address {
                Some(_) => health.ready.interval,
                None => self.clock.now().until(progress.next_ask),
            };
            let until = (self.clock.now() + wait).min(deadline);
            // A nudge shortens no probe's interval, unless it ends the start.
            while instance.state().is_starting()
                && self.clock.now() < until
                && !self.drain.is_cancelled()
            {
                self.pause(instance, self.clock.now().until(until)).await;
            }
        }
    }

    /// Asks the provider where the instance stands, when it is time to.
    async fn ask(
        &self,
        instance: &Instance,
        provider_id: &str,
        progress: &mut Progress,
    ) -> Option<StartFailed> {
        let now = self.clock.now();
        if now < progress.next_ask {
            return None;
        }
        let result = instance.provider.adapter.get(provider_id).await;
        progress.asks += 1;
        let pause = (FIRST_ASK * progress.asks).min(ASK_EVERY);
        progress.next_ask = self.clock.now() + pause;
        match result.map(|seen| seen.filter(|seen| instance.is(seen))) {
            Err(error) => tracing::debug!(instance = instance.id, %error, "no news of a start"),
            Ok(None) => {
                progress.unknown += 1;
                let visible = instance.is_visible(self.clock.now());
                if visible && progress.unknown >= MOST_UNKNOWN {
                    progress.vanished = true;
                    return Some(failed(
                        "start_failed",
                        "it vanished while it started".to_owned(),
                    ));
                }
            }
            Ok(Some(seen)) => {
                instance.seen();
                progress.unknown = 0;
                return progress.learn(seen);
            }
        }
        None
    }

    async fn became_ready(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        address: &Address,
        price: Option<NanoUsd>,
    ) {
        self.secrets.hide_tokens(address);
        let sealed = match self.secrets.seal_address(&instance.id, address) {
            Ok(sealed) => sealed,
            Err(error) => {
                // Never written down as it is: it is tried again.
                tracing::error!(instance = instance.id, %error, "its address could not be sealed");
                return self.pause(instance, ASK_EVERY).await;
            }
        };
        instance.learn_address(address.clone());
        let asked = instance.usd_per_hour();
        let changes = InstanceChanges {
            address: Some(sealed),
            usd_per_hour: price,
            detail: Some(String::new()),
        };
        // The idle clock starts at "ready" (or at the last response, if later).
        deployment.live.traffic[instance.tier].touch(self.clock.now());
        if self
            .advance(deployment, instance, InstanceEvent::BecameReady, changes)
            .await
        {
            if !instance.adopted {
                let took = self.clock.now().since(instance.since);
                deployment.live.tally.starts[instance.tier].record(took);
            }
            deployment.started(instance.tier);
            self.publish(deployment);
            self.nudge(deployment);
            if let Some(why) = self.costs_too_much(deployment, instance, asked) {
                self.end(deployment, instance, &why.detail).await;
            }
        } else {
            self.pause(instance, ASK_EVERY).await;
        }
    }
}

/// An endpoint that was asked whether it is ready has started a worker, which is
/// paid for like one that a request wakes, also where none waits for it.
fn count_worker(deployment: &Controlled, instance: &Instance) {
    let live = &deployment.live;
    let unasked = instance.tier == Tier::Serverless && live.waiting() == 0;
    if let Some(backend) = instance.backend().filter(|_| unasked) {
        drop(BackendPermit::take(live, &backend));
    }
}

impl Progress {
    /// Why it failed, once its time is over.
    fn too_late(&self) -> String {
        let at = self.address.as_ref().map(|(address, _)| address);
        match &self.clash {
            Some((clash, why)) if at == Some(clash) => format!("it was not ready in time: {why}"),
            _ => "it was not ready in time".to_owned(),
        }
    }

    fn learn(&mut self, seen: ProviderInstance) -> Option<StartFailed> {
        match seen.state {
            ProviderState::Starting => self.address = None,
            ProviderState::Ready => return self.learn_address(seen),
            ProviderState::Failed | ProviderState::Stopping | ProviderState::Gone => {
                self.vanished = seen.state != ProviderState::Failed;
                let detail = match seen.detail.is_empty() {
                    true => "it ended while it started".to_owned(),
                    false => seen.detail,
                };
                return Some(failed("start_failed", detail));
            }
        }
        None
    }

    /// An address that can never be sent to ends the start, as one that does not come:
    /// both are paid for and never serve.
    fn learn_address(&mut self, seen: ProviderInstance) -> Option<StartFailed> {
        let Some(address) = seen.address else {
            self.address = None;
            self.unaddressed += 1;
            let patient = self.unaddressed < MOST_UNADDRESSED;
            let why = "the provider says that it is ready, and gives no address";
            return (!patient).then(|| failed("start_failed", why.to_owned()));
        };
        self.unaddressed = 0;
        if let Err(why) = check_address(&address) {
            let why = format!("the provider's address for it cannot be used: {why}");
            return Some(failed("start_failed", why));
        }
        self.address = Some((address, price(seen.usd_per_hour)));
        None
    }
}

fn failed(code: &'static str, detail: String) -> StartFailed {
    StartFailed {
        code,
        detail,
        retry_after: Duration::ZERO,
    }
}
