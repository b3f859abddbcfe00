//! Instances of providers that are no longer configured: nothing can be done
//! about them, so they are left alone and shown until their provider is back.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};
use thermocline_policy::{NanoUsd, Tier};
use thermocline_store::InstanceRow;

use crate::control::ControlPlane;
use crate::status::row_json;

/// Why nothing is known of them.
pub(crate) const WHY: &str = "the provider of an instance is no longer configured";

/// What is written down of them, by id.
#[derive(Default)]
pub(crate) struct OutOfReach(Mutex<BTreeMap<String, InstanceRow>>);

impl OutOfReach {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, InstanceRow>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl ControlPlane {
    /// Notes an instance of an earlier run that cannot be taken over.
    pub(crate) fn put_out_of_reach(&self, row: InstanceRow) {
        tracing::error!(instance = row.id, provider = row.provider, "{WHY}");
        self.out_of_reach.rows().insert(row.id.clone(), row);
    }

    /// The prices of those that are pods: they may be paid for still.
    pub(crate) fn prices_out_of_reach(&self) -> Vec<Option<NanoUsd>> {
        let rows = self.out_of_reach.rows();
        let pods = rows.values().filter(|row| row.tier == Tier::Pod);
        pods.map(|row| row.usd_per_hour).collect()
    }

    /// Whether `id` is one of them.
    pub(crate) fn is_out_of_reach(&self, id: &str) -> bool {
        self.out_of_reach.rows().contains_key(id)
    }

    /// Those of a deployment, or all, as they read.
    pub(crate) fn out_of_reach(&self, deployment: Option<&str>) -> Vec<Value> {
        let rows = self.out_of_reach.rows();
        let wanted = |row: &&InstanceRow| deployment.is_none_or(|name| row.deployment == name);
        let read = |row: &InstanceRow| {
            let mut instance = row_json(row);
            instance["state"] = json!("unknown");
            instance["detail"] = json!(format!(
                "the provider {} is no longer configured",
                row.provider
            ));
            instance
        };
        rows.values().filter(wanted).map(read).collect()
    }
}
