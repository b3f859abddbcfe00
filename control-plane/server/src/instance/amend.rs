use std::sync::Arc;

use thermocline_policy::{InstanceState, NanoUsd, Tier};
use thermocline_provider::ProviderInstance;
use thermocline_store::InstanceChanges;

use super::Instance;
use super::create::price;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

impl ControlPlane {
    /// Writes down what is new of an instance that stays in its state; whether it was.
    pub(super) async fn amend(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        changes: InstanceChanges,
    ) -> bool {
        let _one = instance.writing.lock().await;
        let state = instance.state();
        self.write(deployment, instance, &state, changes).await
    }

    /// What a list says of a pod's price, from now on: in its row, in the ledger and
    /// before the budgets, whatever it cost until then.
    pub(crate) async fn follow_price(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        seen: &ProviderInstance,
    ) {
        let before = instance.usd_per_hour();
        let news = price(seen.usd_per_hour).filter(|real| before != Some(*real));
        let Some(real) = news.filter(|_| is_paid(instance, seen)) else {
            return;
        };
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
                false => self.lost(deployment, instance, &why.detail).await,
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
