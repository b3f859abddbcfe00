//! How instances of this machine make room for a deployment that waits.

use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, InstanceState, LAST_WORK, Moment, Tier};
use thermocline_store::InstanceChanges;
use thermocline_table::StartFailed;

use super::claims::{Activities, Activity, Answer, Ask};
use super::{Placement, wants};
use crate::capacity::any;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::Instance;

/// Why an instance is not started now.
pub(crate) enum NoStart {
    /// Room is being made for it, or another look may find that it can be; who
    /// waits goes on waiting.
    Waits,
    /// Who waits is told.
    Refused(StartFailed),
}

impl ControlPlane {
    /// Promises room on this machine's GPUs to the instance `id` that is about
    /// to be started; `None` where it takes nothing of them.
    ///
    /// # Errors
    /// [`NoStart`].
    pub(crate) fn place(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        id: &str,
        now: Moment,
    ) -> Result<Option<Placement>, NoStart> {
        let activities = self.activities(now);
        let mut books = self.machine.books();
        let Some(terms) = deployment.with_spec(|spec| wants(&spec.resources, &books)) else {
            return Ok(None);
        };
        let ask = Ask {
            deployment: &deployment.live.name,
            instance: id,
            terms: &terms,
            alone: serves_here_alone(deployment),
            wanted: deployment.live.waiting() > 0,
        };
        let answer = books.ask(&ask, &activities, now);
        drop(books);
        match answer {
            Answer::Placed(placement) => Ok(Some(placement)),
            Answer::Waits(leaving) => {
                leaving
                    .iter()
                    .for_each(|instance| self.nudge_owner(instance));
                Err(NoStart::Waits)
            }
            Answer::Refused(short) => Err(NoStart::Refused(StartFailed {
                code: "no_capacity",
                detail: short,
                retry_after: Duration::ZERO,
            })),
        }
    }

    /// How many local instances are left of those that run; `None` = all.
    pub(crate) fn left_here(&self, instances: &[Arc<Instance>]) -> Option<u32> {
        let up = |instance: &&Arc<Instance>| {
            let state = instance.state();
            instance.tier == Tier::Local && (state.is_starting() || state.is_ready())
        };
        let (leaving, staying): (Vec<_>, Vec<_>) = instances
            .iter()
            .filter(up)
            .partition(|instance| self.machine.makes_room_for(&instance.id).is_some());
        (!leaving.is_empty()).then_some(staying.len() as u32)
    }

    /// What is written down of an instance that goes to make room.
    pub(crate) fn why_it_leaves(&self, instance: &Instance) -> Option<String> {
        let name = self.machine.makes_room_for(&instance.id)?;
        Some(format!("makes room for {name}"))
    }

    /// Ends what goes to make room and has had the time for its last work.
    pub(crate) async fn cut_what_leaves(self: &Arc<Self>, deployment: &Arc<Controlled>) {
        let now = self.clock.wall_micros();
        for instance in deployment.instances() {
            let row = instance.row();
            let drains = matches!(row.state, InstanceState::Draining { .. });
            let over = now.saturating_sub(row.changed_at) >= LAST_WORK.as_micros() as i64;
            if drains && over && self.machine.makes_room_for(&instance.id).is_some() {
                let changes = InstanceChanges::default();
                self.advance(deployment, &instance, InstanceEvent::Stop, changes)
                    .await;
            }
        }
    }

    fn nudge_owner(&self, instance: &str) {
        let name = self
            .index()
            .get(instance)
            .map(|i| i.request.deployment.clone());
        if let Some(deployment) = name.and_then(|name| self.deployment(&name)) {
            self.nudge(&deployment);
        }
    }

    /// What the local instances do at `now`.
    fn activities(&self, now: Moment) -> Activities {
        let index = self.index();
        let local = index.values().filter(|i| i.tier == Tier::Local);
        let local: Vec<Arc<Instance>> = local.cloned().collect();
        drop(index);
        let activity = |instance: Arc<Instance>| {
            let owner = self.deployment(&instance.request.deployment);
            let state = instance.state();
            let activity = Activity {
                in_flight: instance.backend().map_or(0, |backend| backend.in_flight()),
                waiting: owner.as_ref().map_or(0, |it| it.live.waiting()),
                uses: owner.map_or(0.0, |it| it.live.observe(now).count as f64),
                leaving: !state.is_starting() && !state.is_ready(),
            };
            (instance.id.clone(), activity)
        };
        local.into_iter().map(activity).collect()
    }
}

/// Whether its requests can be served on this machine alone, and are not.
fn serves_here_alone(deployment: &Controlled) -> bool {
    let up = any(&deployment.instances(), Tier::Local, |state| {
        state.is_starting() || state.is_ready()
    });
    let tiers = deployment.with_spec(|spec| spec.tiers.set());
    let others = [Tier::Dedicated, Tier::Serverless, Tier::Pod];
    !up && !others.into_iter().any(|tier| tiers.has(tier))
}
