//! What lists say of a pod's price while it exists.

mod readings;

use std::sync::Arc;

use thermocline_policy::{InstanceState, NanoUsd, Tier};
use thermocline_provider::ProviderInstance;
use thermocline_store::InstanceChanges;

use super::Instance;
use super::create::price;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
pub(super) use readings::Readings;

impl ControlPlane {
    /// What a list says of a pod's price: it is paid from now on. Another one that
    /// lasts is written down, held against the budgets and told.
    pub(crate) async fn follow_price(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        seen: &ProviderInstance,
    ) {
        let Some(real) = price(seen.usd_per_hour).filter(|_| is_paid(instance, seen)) else {
            return;
        };
        let before = instance.usd_per_hour();
        if !instance.reads_another_price(real) {
            return;
        }
        let changes = InstanceChanges {
            usd_per_hour: Some(real),
            ..InstanceChanges::default()
        };
        if !self.amend(deployment, instance, changes).await {
            return; // the next list says it again
        }
        self.tell_price(deployment, instance, before, real);
        if let Some(why) = self.costs_too_much(deployment, instance, before) {
            match instance.state().is_starting() {
                true => self.give_up(deployment, instance, why).await,
                false => drop(self.end(deployment, instance, &why.detail).await),
            }
        }
        self.heed_budgets();
    }

    fn tell_price(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        before: Option<NanoUsd>,
        real: NanoUsd,
    ) {
        let before =
            before.map_or_else(|| "nobody knew what".to_owned(), |price| price.to_string());
        let text = format!(
            "{} instance costs {real} an hour, {before} before",
            instance.tier
        );
        self.tell_instance(deployment, instance, "price", &text);
    }
}

impl Instance {
    /// What is paid for it an hour: as the last list said, or as was written down.
    pub(crate) fn paid_per_hour(&self) -> Option<NanoUsd> {
        let known = self.known();
        known.readings.last().or(known.row.usd_per_hour)
    }

    /// Notes what a list says; whether that is another price that lasts.
    fn reads_another_price(&self, real: NanoUsd) -> bool {
        let mut known = self.known();
        let written = known.row.usd_per_hour;
        known.readings.read(real, written)
    }
}

/// Whether it is a pod that is paid for as `seen` says.
fn is_paid(instance: &Instance, seen: &ProviderInstance) -> bool {
    use InstanceState as S;
    let state = instance.state();
    let stays = matches!(
        state,
        S::Starting { .. } | S::Ready { .. } | S::Draining { .. }
    );
    instance.tier == Tier::Pod && stays && state.provider_id() == Some(&seen.id)
}
