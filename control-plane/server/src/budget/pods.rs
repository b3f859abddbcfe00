use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use thermocline_policy::{Ceilings, Commitment, NanoUsd, OverBudget, Tier};

use super::{is_up, live_price};
use crate::control::ControlPlane;
use crate::instance::Instance;

/// The live pods of all deployments.
#[derive(Debug, Default)]
pub(super) struct Pods {
    /// What they commit to.
    pub(super) all: Commitment,
    /// Those that the server's ceilings no longer hold, the newest of all.
    pub(super) above: HashSet<String>,
}

impl ControlPlane {
    /// What the live pods at `provider` cost an hour, as far as it is known:
    /// what goes on if this server never comes back.
    pub(crate) fn committed_at(&self, provider: &str) -> NanoUsd {
        let index = self.index();
        let pods = index.values();
        let pods = pods.filter(|i| i.tier == Tier::Pod && i.provider.name == provider);
        self.commitment(pods.filter_map(|i| live_price(i)))
            .usd_per_hour
    }

    /// Counts the live pods again.
    pub(crate) fn weigh_pods(&self) {
        let mut prices = self.prices_out_of_reach();
        let mut up = BTreeMap::new();
        for instance in self.index().values().filter(|i| i.tier == Tier::Pod) {
            prices.extend(live_price(instance));
            if is_up(instance) {
                up.insert(instance.id.clone(), instance.usd_per_hour());
            }
        }
        let ceilings = Ceilings {
            usd_per_day: None,
            usd_per_hour: self.budgets.config.usd_per_hour,
            instances: self.budgets.config.instances,
        };
        let assumed = self.assumed(Tier::Pod).map(super::nano).unwrap_or_default();
        // Ids are in the order of their making.
        let kept = ceilings.kept(up.values().map(|price| price.unwrap_or(assumed)));
        *self.budgets.pods() = Pods {
            all: self.commitment(prices.into_iter()),
            above: up.into_keys().skip(kept).collect(),
        };
    }

    /// Why none of the deployment's pods may stay under the server's ceilings.
    pub(super) fn shed(
        &self,
        instances: &[Arc<Instance>],
        ceilings: &Ceilings,
    ) -> Option<OverBudget> {
        let pods = self.budgets.pods();
        let mut up = instances.iter().filter(|i| i.tier == Tier::Pod && is_up(i));
        let (first, all) = (up.clone().next()?, pods.all);
        let above = up.all(|i| pods.above.contains(&i.id)) && pods.above.contains(&first.id);
        above.then(|| match (ceilings.usd_per_hour, ceilings.instances) {
            (Some(limit), _) if all.usd_per_hour > limit => OverBudget::Rate {
                limit,
                pods: all.usd_per_hour,
                more: NanoUsd(0),
            },
            (_, limit) => OverBudget::Instances {
                limit: limit.unwrap_or_default(),
            },
        })
    }
}
