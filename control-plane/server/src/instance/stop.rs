use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, Moment};
use thermocline_provider::{ProviderError, list_all};
use thermocline_store::InstanceChanges;

use super::Instance;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Complete lists without it, in a row, that confirm an absence.
const LISTS: u32 = 2;
/// An instance whose create was never answered may appear for this long.
const VISIBLE_WITHIN: Duration = Duration::from_secs(30);

impl ControlPlane {
    /// Deletes it until its absence is confirmed. Never given up.
    pub(super) async fn make_absent(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        provider_id: Option<String>,
    ) {
        let began = self.clock.now();
        let (mut absences, mut pause, mut failures) = (0, FIRST_PAUSE, 0u32);
        while !self.drain.is_cancelled() {
            let step = match &provider_id {
                Some(id) => self.delete_step(instance, id).await,
                None => self.search_step(deployment, instance).await,
            };
            match step {
                Ok(Look::Absent) => absences += 1,
                Ok(Look::There) => absences = 0,
                Ok(Look::Found) => return,
                Err(error) => {
                    absences = 0;
                    failures += 1;
                    self.tell_refusal(deployment, instance, &error, failures);
                }
            }
            if absences >= LISTS && self.past_visibility(&provider_id, began) {
                deployment.set_last_error(None);
                return self.confirmed_absent(deployment, instance).await;
            }
            self.clock.sleep(pause).await;
            pause = match failures {
                0 => (pause * 2).min(Duration::from_secs(5)),
                _ => (pause * 2).min(LONGEST_PAUSE),
            };
        }
    }

    fn past_visibility(&self, provider_id: &Option<String>, began: Moment) -> bool {
        provider_id.is_some() || self.clock.now().since(began) >= VISIBLE_WITHIN
    }

    /// Asks for the deletion, and looks whether it is there.
    async fn delete_step(&self, instance: &Instance, id: &str) -> Result<Look, ProviderError> {
        let adapter = &instance.provider.adapter;
        let deleted = adapter.delete(id).await;
        instance.provider.note(&deleted, self.clock.now());
        deleted?;
        if adapter.get(id).await?.is_some() {
            return Ok(Look::There);
        }
        let (all, complete) = list_all(adapter.as_ref(), &self.owner).await?;
        match complete && !all.iter().any(|seen| seen.id == id) {
            true => Ok(Look::Absent),
            false => Ok(Look::There),
        }
    }

    /// Looks for an instance whose create was never answered.
    async fn search_step(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) -> Result<Look, ProviderError> {
        let listed = list_all(instance.provider.adapter.as_ref(), &self.owner).await;
        instance.provider.note(&listed, self.clock.now());
        let (all, complete) = listed?;
        let Some(found) = all.into_iter().find(|seen| seen.key == instance.id) else {
            return Ok(if complete { Look::Absent } else { Look::There });
        };
        let event = InstanceEvent::Created {
            provider_id: found.id,
        };
        match self
            .advance(deployment, instance, event, InstanceChanges::default())
            .await
        {
            true => Ok(Look::Found),
            false => Ok(Look::There),
        }
    }

    fn tell_refusal(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        error: &ProviderError,
        failures: u32,
    ) {
        deployment.set_last_error(Some(error.to_string()));
        if failures.is_power_of_two() {
            let text = format!("a delete failed ({failures}): {error}");
            self.tell_instance(deployment, instance, "delete_failed", &text);
        }
    }
}

/// What a step towards absence found.
enum Look {
    There,
    Absent,
    /// Its id is known now.
    Found,
}
