//! What the fleet is asked to run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, ProviderError, ProviderErrorKind};
use thermocline_wire::fleet::Model;

use crate::access::hex;

/// The deployments, and the instances that stand for their queues.
#[derive(Default)]
pub(crate) struct Deployments {
    models: BTreeMap<String, Arc<Model>>,
    /// By the key that made them, which is their id.
    instances: BTreeMap<String, Instance>,
    /// Those that are gone and have not been announced so.
    gone: BTreeSet<String>,
}

/// One queue as the control plane has it.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) owner: String,
    pub(crate) deployment: String,
    model: Arc<Model>,
}

impl Deployments {
    /// Makes the instance `key` exist; what the newest key asks for is run.
    pub(crate) fn add(
        &mut self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<Instance, ProviderError> {
        if let Some(known) = self.instances.get(key) {
            return Ok(known.clone());
        }
        let instance = Instance {
            owner: request.owner.clone(),
            deployment: request.deployment.clone(),
            model: Arc::new(model(request)?),
        };
        self.gone.remove(&request.deployment);
        self.instances.insert(key.to_owned(), instance.clone());
        self.settle_model(&request.deployment);
        Ok(instance)
    }

    /// Takes `key` away. `None` where it is not known, else the deployment
    /// that has no instance left.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Option<String>> {
        let deployment = self.instances.remove(key)?.deployment;
        self.settle_model(&deployment);
        if self.models.contains_key(&deployment) {
            return Some(None);
        }
        self.gone.insert(deployment.clone());
        Some(Some(deployment))
    }

    /// The newest instance says what is run: keys rise, in whatever order they
    /// are made again.
    fn settle_model(&mut self, deployment: &str) {
        let mut all = self.instances.values().rev();
        match all.find(|it| it.deployment == deployment) {
            Some(newest) => drop(
                self.models
                    .insert(deployment.to_owned(), newest.model.clone()),
            ),
            None => drop(self.models.remove(deployment)),
        }
    }

    pub(crate) fn instance(&self, key: &str) -> Option<&Instance> {
        self.instances.get(key)
    }

    /// Those of `owner`, by key.
    pub(crate) fn of<'a>(
        &'a self,
        owner: &'a str,
    ) -> impl Iterator<Item = (&'a String, &'a Instance)> {
        self.instances
            .iter()
            .filter(move |(_, it)| it.owner == owner)
    }

    pub(crate) fn model(&self, deployment: &str) -> Option<Arc<Model>> {
        self.models.get(deployment).cloned()
    }

    pub(crate) fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.values()
    }

    /// Those that are gone since this was last asked.
    pub(crate) fn take_gone(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.gone)
    }
}

/// What a worker must know to run what is requested.
pub(crate) fn model(request: &InstanceRequest) -> Result<Model, ProviderError> {
    let invalid = |detail: &str| Err(ProviderError::new(ProviderErrorKind::Invalid, detail));
    if request.image.is_empty() || request.port == 0 {
        return invalid("an image and a port are needed");
    }
    if request.tier != Tier::Serverless {
        return invalid("the fleet gives the tier serverless");
    }
    let fleet = request.fleet.clone().unwrap_or_default();
    let mut model = Model {
        deployment: request.deployment.clone(),
        generation: String::new(),
        image: request.image.clone(),
        command: request.command.clone(),
        args: request.args.clone(),
        env: request.env.clone(),
        port: request.port,
        ready_path: request.ready_path.clone(),
        ready_status: fleet.ready_status,
        start_timeout_ms: fleet.start_timeout_ms,
        gpus: request.gpus,
        terms: fleet.terms,
    };
    model.generation = generation(&model)?;
    Ok(model)
}

/// A name for all that a worker starts a model from, and on which terms.
fn generation(model: &Model) -> Result<String, ProviderError> {
    let text = serde_json::to_vec(model).map_err(|_| {
        ProviderError::new(
            ProviderErrorKind::Invalid,
            "the request cannot be written as JSON",
        )
    })?;
    Ok(hex(&Sha256::digest(&text)[..8]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(image: &str) -> InstanceRequest {
        let text = json!({
            "owner": "o", "deployment": "m", "tier": "serverless", "image": image, "port": 8000,
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_replacement_keeps_the_queue_and_the_last_one_ends_it() {
        let mut deployments = Deployments::default();
        deployments.add("1", &request("i:1")).unwrap();
        let before = deployments.model("m").unwrap();
        deployments.add("1", &request("i:2")).unwrap();
        assert_eq!(
            deployments.model("m").unwrap(),
            before,
            "a key is made once"
        );
        deployments.add("2", &request("i:2")).unwrap();
        let after = deployments.model("m").unwrap();
        assert_ne!(after.generation, before.generation);
        assert_eq!(deployments.remove("1"), Some(None));
        assert_eq!(deployments.remove("1"), None);
        assert_eq!(deployments.remove("2"), Some(Some("m".to_owned())));
        assert!(deployments.model("m").is_none());
        assert_eq!(deployments.take_gone().len(), 1);
    }

    #[test]
    fn the_newest_key_is_run_in_whatever_order_they_are_made_again() {
        let mut deployments = Deployments::default();
        deployments.add("2", &request("i:2")).unwrap();
        deployments.add("1", &request("i:1")).unwrap();
        assert_eq!(deployments.model("m").unwrap().image, "i:2");
        deployments.remove("2");
        assert_eq!(deployments.model("m").unwrap().image, "i:1");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |request: &InstanceRequest| {
            let refusal = Deployments::default().add("1", request);
            assert_eq!(refusal.unwrap_err().kind, ProviderErrorKind::Invalid);
        };
        refused(&request(""));
        refused(&InstanceRequest {
            port: 0,
            ..request("i")
        });
        refused(&InstanceRequest {
            tier: Tier::Pod,
            ..request("i")
        });
    }
}
