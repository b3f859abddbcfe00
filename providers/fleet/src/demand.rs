//! What is announced of the queues: what changed, and now and then all of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use thermocline_wire::fleet::{Demand, Model, QueueDemand};

use crate::intake::millis;
use crate::lot::Standing;

/// How often all queues are told.
pub(crate) const WHOLE_EVERY: Duration = Duration::from_secs(5);
/// How long a gateway that is silent counts as there.
const VALID: Duration = Duration::from_secs(16);

/// What was told last of each queue.
#[derive(Default)]
pub(crate) struct Digest {
    sequence: u64,
    told: BTreeMap<String, (u32, String)>,
    draining: Vec<String>,
}

/// What there is to tell of.
pub(crate) struct Now {
    pub(crate) models: Vec<Arc<Model>>,
    pub(crate) standings: HashMap<Arc<str>, Standing>,
    /// Deployments that are gone since the last announcement.
    pub(crate) gone: BTreeSet<String>,
    /// Workers that are to take no more.
    pub(crate) draining: Vec<String>,
}

impl Digest {
    /// What is new: of the queues that there are, and of those that are gone.
    /// `None` when nothing is, unless `whole` is wanted.
    pub(crate) fn next(&mut self, gateway: &str, now: Now, whole: bool) -> Option<Demand> {
        let mut queues: Vec<QueueDemand> = Vec::new();
        for model in &now.models {
            let standing = now.standings.get(model.deployment.as_str());
            let standing = standing.copied().unwrap_or_default();
            if whole || self.is_news(model, standing) {
                let told = (standing.waiting, model.generation.clone());
                self.told.insert(model.deployment.clone(), told);
                queues.push(demand(model, standing));
            }
        }
        for deployment in now.gone {
            self.told.remove(&deployment);
            queues.push(withdrawn(deployment));
        }
        if queues.is_empty() && !whole && now.draining == self.draining {
            return None;
        }
        self.draining.clone_from(&now.draining);
        self.sequence += 1;
        Some(Demand {
            gateway: gateway.to_owned(),
            sequence: self.sequence,
            whole,
            valid_ms: millis(VALID),
            queues,
            draining: now.draining,
        })
    }

    fn is_news(&self, model: &Model, standing: Standing) -> bool {
        let told = self.told.get(&model.deployment);
        told.is_none_or(|(waiting, generation)| {
            *waiting != standing.waiting || *generation != model.generation
        })
    }
}

fn demand(model: &Model, standing: Standing) -> QueueDemand {
    QueueDemand {
        deployment: model.deployment.clone(),
        waiting: standing.waiting,
        oldest_ms: millis(standing.oldest),
        generation: model.generation.clone(),
        terms: Some(model.terms.clone()),
    }
}

fn withdrawn(deployment: String) -> QueueDemand {
    QueueDemand {
        deployment,
        waiting: 0,
        oldest_ms: 0,
        generation: String::new(),
        terms: None,
    }
}

#[cfg(test)]
mod tests;
