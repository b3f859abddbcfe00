//! How an instance comes under control: a start, or one of an earlier run.

use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{Moment, Spec, Tier};
use thermocline_store::{InstanceRow, NewInstance, StoreError};
use thermocline_table::StartFailed;
use ulid::Ulid;

use super::Wish;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::{Instance, Origin};
use crate::launch::request;
use crate::local::{NoStart, Placement};
use crate::provider::{Registered, name_for};

impl ControlPlane {
    /// Writes the intent down, then starts to drive it.
    pub(super) async fn begin(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        wish: &Wish<'_>,
        slot: u32,
        now: Moment,
    ) {
        if deployment.backing_off(wish.tier, now).is_some() {
            return;
        }
        match self.intended(deployment, wish, slot, now).await {
            Ok(instance) => {
                deployment.set_idle_stop(None);
                self.cold_starts.began(&instance);
                self.tell_instance(deployment, &instance, "intended", "a start is intended");
                self.take_up(deployment, instance);
                self.heed_budgets();
            }
            Err(NoStart::Waits) => {}
            Err(NoStart::Refused(error)) => self.start_failed(deployment, wish.tier, error),
        }
    }

    /// An instance that is written down as intended, with its place where it
    /// needs one on this machine.
    async fn intended(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        wish: &Wish<'_>,
        slot: u32,
        now: Moment,
    ) -> Result<Arc<Instance>, NoStart> {
        let (tier, config) = (wish.tier, deployment.live.config.load_full());
        let provider = self.usable_provider(&config.spec, tier)?;
        let usd_per_hour = self.pod_price(&config.spec, tier).await;
        // It may have taken its time: who wished for it may have left.
        if self.desired(deployment, &config, now)[tier].count < wish.target.count {
            return Err(NoStart::Waits);
        }
        let id = Ulid::generate().to_string();
        let placement = match tier {
            Tier::Local => self.place(deployment, &id, now)?,
            _ => None,
        };
        let intent = NewInstance {
            id: id.clone(),
            deployment: config.spec.name.clone(),
            tier,
            provider: provider.name.clone(),
            slot,
            generation: config.generation,
            fingerprint: wish.mark.to_owned(),
            placement: placement.as_ref().map(Placement::to_json),
            usd_per_hour,
        };
        let row = match self.intend(deployment, &intent).await {
            Ok(row) => row,
            Err(error) => {
                self.machine.release(&id);
                return Err(self.not_intended(error));
            }
        };
        let mut request = request(&config.spec, tier, &self.owner);
        request.devices = placement.map_or_else(Vec::new, |place| place.uuids());
        let instance = Instance::new(row, provider, request, now, Origin::Intended);
        Ok(Arc::new(instance))
    }

    /// The provider of `tier`. Where it is known to be away and nothing can have
    /// been made, who waits is told so now, and not at the deadline.
    fn usable_provider(&self, spec: &Spec, tier: Tier) -> Result<Arc<Registered>, NoStart> {
        let name = name_for(spec, tier).unwrap_or_default();
        let Some(provider) = self.providers.get(name) else {
            return Err(refused(
                "no_provider",
                format!("there is no provider {name}"),
            ));
        };
        if let Some(silent) = self.silent(spec, tier) {
            return Err(NoStart::Refused(silent));
        }
        match provider.condition().last_error {
            Some(error) if tier == Tier::Local => Err(refused("no_daemon", error)),
            _ => Ok(provider.clone()),
        }
    }

    fn not_intended(&self, error: StoreError) -> NoStart {
        match error {
            StoreError::OverBudget(why) => return NoStart::Refused(self.over_budget(why)),
            StoreError::StartInProgress => {}
            error => tracing::warn!(%error, "an intent could not be written down"),
        }
        NoStart::Waits
    }

    /// Takes over an instance of an earlier run.
    pub(crate) fn adopt(self: &Arc<Self>, deployment: &Arc<Controlled>, row: InstanceRow) {
        let now = self.clock.now();
        let Some(provider) = self.providers.get(&row.provider).cloned() else {
            return self.put_out_of_reach(row);
        };
        let mut request = deployment.with_spec(|spec| request(spec, row.tier, &self.owner));
        let placement = row.placement.as_deref().and_then(Placement::from_json);
        if let Some(placement) = &placement {
            request.devices = placement.uuids();
        }
        self.promise_again(deployment, &row, placement, now);
        deployment.live.traffic[row.tier].touch(now);
        let origin = Origin::Adopted(self.address_of(&row));
        let instance = Arc::new(Instance::new(row, provider, request, now, origin));
        self.restore_backend(deployment, &instance);
        self.take_up(deployment, instance);
    }

    /// Counts what a local instance of an earlier run holds of this machine.
    fn promise_again(
        &self,
        deployment: &Controlled,
        row: &InstanceRow,
        placement: Option<Placement>,
        now: Moment,
    ) {
        let unnamed = || deployment.with_spec(|spec| self.machine.unnamed(&spec.resources));
        let local = row.tier == Tier::Local;
        if let Some(placement) = placement.or_else(|| local.then(unnamed).flatten()) {
            let ready = !row.state.is_starting();
            self.machine.adopt(&row.id, placement, ready, now);
        }
    }

    fn take_up(self: &Arc<Self>, deployment: &Arc<Controlled>, instance: Arc<Instance>) {
        self.index().insert(instance.id.clone(), instance.clone());
        deployment.add_instance(instance.clone());
        let (control, deployment) = (self.clone(), deployment.clone());
        tokio::spawn(async move { control.drive(deployment, instance).await });
    }
}

fn refused(code: &'static str, detail: String) -> NoStart {
    NoStart::Refused(StartFailed {
        code,
        detail,
        retry_after: Duration::ZERO,
    })
}
