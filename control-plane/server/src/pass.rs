//! One look at one deployment: decide, scale, plan, apply.

mod begin;
mod marks;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use thermocline_policy::{
    Action, Desired, Fewer, InstanceEvent, InstanceState, Moment, Observed, Spec, Target, Tier,
    TierLoad, TierMap, Wanted, plan, scale,
};
use thermocline_store::{InstanceChanges, StoreError};
use thermocline_table::Config;

use crate::control::ControlPlane;
use crate::deployment::{Controlled, IdleStop};
use crate::fleet::{is_handed_over, work_in_hand};
use crate::instance::Instance;

pub(crate) use self::marks::Marks;

impl ControlPlane {
    /// Whether a pass over it would find nothing to do.
    pub(crate) fn rests(&self, deployment: &Controlled) -> bool {
        deployment.is_at_rest()
            && deployment
                .with_spec(|spec| spec.tiers.local.is_none() && spec.min_instances(Tier::Pod) == 0)
            && !self.is_pool(deployment)
            && deployment.live.current() == deployment.row().tier
    }

    /// Brings `deployment` a step nearer to what is wanted. Idempotent; one at a time.
    pub(crate) async fn pass(self: &Arc<Self>, deployment: &Arc<Controlled>) {
        let mut marks = deployment.passing.lock().await;
        // From here on a nudge asks for the next pass.
        deployment.nudged.store(false, Ordering::Release);
        let now = self.clock.now();
        // Read first: whoever comes from here on is no part of an idle stop.
        let arrivals = deployment.live.arrivals();
        self.decide_again(deployment, now);
        self.save_tier(deployment).await;
        let config = deployment.live.config.load_full();
        let desired = self.desired(deployment, &config, now);
        let marks = marks.of(&config, |spec, tier| self.fingerprint(spec, tier));
        for tier in Tier::CREATED {
            let wish = Wish {
                tier,
                target: desired[tier],
                mark: &marks[tier],
                max: config.spec.max_instances(tier).unwrap_or(0),
            };
            self.fulfil(deployment, &wish, arrivals, now).await;
        }
        self.cut_last_work(deployment).await;
        self.cut_what_leaves(deployment).await;
        self.drain_workers(deployment);
        self.release_parked(deployment, &config);
        self.publish(deployment);
        if config.deleting && deployment.instances().is_empty() {
            match self.out_of_reach(Some(&config.spec.name)).is_empty() {
                true => self.forget(deployment).await,
                false => deployment.set_last_error(Some(crate::out_of_reach::WHY.to_owned())),
            }
        }
    }

    fn desired(&self, deployment: &Controlled, config: &Config, now: Moment) -> Desired {
        let at_rest = config.stopped || config.deleting;
        let loads = self.loads(deployment, now);
        let members = config.spec.concurrency.instances();
        let mut desired = scale(&loads, deployment.live.current(), at_rest, members);
        if let Some(workers) = self.workers_wanted(deployment, now).filter(|_| !at_rest) {
            let unneeded = Target {
                count: workers,
                fewer: Some(Fewer::Unneeded),
            };
            desired[Tier::Pod] = unneeded.within(self.afforded(deployment, Tier::Pod));
        }
        desired
    }

    /// Does what leads to what one tier is meant to have; `arrivals` had come by then.
    async fn fulfil(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        wish: &Wish<'_>,
        arrivals: u64,
        now: Moment,
    ) {
        let wanted = Wanted {
            count: wish.target.count,
            max: wish.max,
        };
        let idles = wish.target.is_idle_stop();
        if idles {
            self.note_idle_stop(deployment, wish.tier, arrivals);
        }
        for action in plan(wanted, &self.observed(deployment, wish.tier, wish.mark)) {
            self.apply(deployment, wish, action, now).await;
        }
        if idles {
            self.decide_again(deployment, now);
            self.save_tier(deployment).await;
        }
    }

    /// What no request asks for now may still change: a rate that has fallen.
    fn decide_again(self: &Arc<Self>, deployment: &Arc<Controlled>, now: Moment) {
        let live = &deployment.live;
        let config = live.config.load();
        if live.current().is_none() || config.stopped || config.deleting {
            return;
        }
        let decision = live.decide(now);
        match live.commit(&decision, now) {
            Some(transition) => self.note_transition(live, transition, now),
            None => self.note_refusal(deployment, &decision, now),
        }
    }

    async fn save_tier(&self, deployment: &Controlled) {
        let tier = deployment.live.current();
        if tier == deployment.row().tier {
            return;
        }
        match self.store.set_tier(&deployment.live.name, tier).await {
            Ok(()) => deployment.set_saved_tier(tier),
            Err(error) => tracing::warn!(%error, "a tier could not be written down"),
        }
    }

    fn loads(&self, deployment: &Controlled, now: Moment) -> TierMap<Option<TierLoad>> {
        let instances = deployment.instances();
        let live = &deployment.live;
        let waiting = live.waiting() > 0;
        deployment.with_spec(|spec| {
            TierMap::from_fn(|tier| {
                let max = spec.max_instances(tier)?;
                let count = |is: &dyn Fn(&Instance) -> bool| {
                    instances.iter().filter(|i| i.tier == tier && is(i)).count() as u32
                };
                let traffic = &live.traffic[tier];
                Some(TierLoad {
                    live: count(&|i| i.state().is_starting() || i.state().is_ready()),
                    ready: count(&|i| i.state().is_ready()),
                    busy: traffic.in_flight() > 0 || (waiting && live.current() == Some(tier)),
                    requested: deployment.is_requested(tier),
                    idle_for: now.since(traffic.last_end()),
                    idle_timeout: idle_timeout(deployment, spec, tier),
                    min: spec.min_instances(tier),
                    max,
                    afforded: match tier {
                        Tier::Local => self.left_here(&instances),
                        _ => self.afforded(deployment, tier),
                    },
                })
            })
        })
    }

    fn note_idle_stop(&self, deployment: &Controlled, tier: Tier, arrivals: u64) {
        if deployment.idle_stop().is_some_and(|stop| stop.tier == tier) {
            return;
        }
        deployment.set_idle_stop(Some(IdleStop {
            tier,
            at: self.clock.wall_micros(),
            arrivals,
        }));
        if tier == Tier::Pod {
            deployment.books.pod_idled(&deployment.live);
        }
        let text = format!("{tier} stops for want of work");
        let body = serde_json::json!({ "tier": tier, "reason": "idle" });
        self.events
            .tell("idle", Some(&deployment.live.name), &text, body);
    }

    async fn apply(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        wish: &Wish<'_>,
        action: Action,
        now: Moment,
    ) {
        let by_id = |id: &str| deployment.instances().into_iter().find(|i| i.id == id);
        let (id, event) = match action {
            Action::Start { slot } => return self.begin(deployment, wish, slot, now).await,
            Action::Drain { id } => (id, InstanceEvent::Drain),
            Action::Revive { id } => {
                deployment.set_idle_stop(None);
                (id, InstanceEvent::Revive)
            }
            Action::Stop { id } => (id, InstanceEvent::Stop),
        };
        if let Some(instance) = by_id(&id) {
            let is_handed_over = is_handed_over(&instance, &deployment.instances());
            if event == InstanceEvent::Stop && !is_handed_over && !may_stop(&instance) {
                return;
            }
            let braked = self.why_braked(deployment, wish.tier, event.clone());
            let changes = InstanceChanges {
                detail: braked
                    .or_else(|| self.why_it_leaves(&instance))
                    .or_else(|| wish.why(&instance, &event)),
                ..InstanceChanges::default()
            };
            self.advance(deployment, &instance, event, changes).await;
        }
    }

    /// Forgets a deployment of which nothing exists any more.
    async fn forget(&self, deployment: &Arc<Controlled>) {
        // Nobody may create another one of that name in the midst of it.
        let _one = self.editing.lock().await;
        let name = deployment.live.name.to_string();
        let known = self.deployment(&name);
        if !known.is_some_and(|known| Arc::ptr_eq(&known, deployment)) {
            return; // an earlier pass has done it
        }
        match self.store.forget_deployment(&name).await {
            Ok(()) | Err(StoreError::NotFound(_)) => {}
            Err(error) => {
                tracing::warn!(%error, "a deployment could not be forgotten");
                return;
            }
        }
        self.drop_deployment(&name);
        let text = "nothing of it exists any more";
        self.events.tell(
            "deployment.deleted",
            Some(&name),
            text,
            serde_json::json!({}),
        );
        deployment.bump();
    }
}

impl ControlPlane {
    fn observed(&self, deployment: &Controlled, tier: Tier, mark: &str) -> Vec<Observed> {
        let workers = self.workers_of(deployment);
        let all = deployment.instances();
        let instances = all.iter();
        instances
            .filter(|i| i.tier == tier && !i.is_only_looked_for())
            .map(|i| Observed {
                id: i.id.clone(),
                slot: i.slot,
                state: i.state(),
                current: i.fingerprint == mark
                    && !i.is_released()
                    && self.machine.makes_room_for(&i.id).is_none(),
                in_flight: match is_handed_over(i, &all) {
                    true => 0,
                    false => work_in_hand(i, workers.as_ref()),
                },
            })
            .collect()
    }
}

/// What one tier is meant to have.
struct Wish<'a> {
    tier: Tier,
    target: Target,
    /// What its instances are to be started from.
    mark: &'a str,
    /// The most that may be live.
    max: u32,
}

impl Wish<'_> {
    /// Why `event` happens to `instance`, where that is to be written down.
    fn why(&self, instance: &Instance, event: &InstanceEvent) -> Option<String> {
        match (event, instance.state()) {
            (InstanceEvent::Revive, _) => Some(String::new()),
            // What was said when it began to drain is still why.
            (InstanceEvent::Stop, InstanceState::Draining { .. }) => None,
            _ if instance.fingerprint != self.mark => Some("replaced".to_owned()),
            _ => self.target.fewer.map(|fewer| fewer.as_str().to_owned()),
        }
    }
}

/// Work in hand is never cut: a request that got its place on a drained backend
/// at the last moment ends first.
fn may_stop(instance: &Instance) -> bool {
    instance.state().is_starting() || instance.backend().is_none_or(|b| b.retire())
}

/// A pod stays as long as the mode thinks it worth, and no longer than it may.
fn idle_timeout(deployment: &Controlled, spec: &Spec, tier: Tier) -> Duration {
    let limit = spec.idle_timeout(tier).unwrap_or_default();
    match tier {
        Tier::Pod => deployment.books.pod_idle(limit),
        _ => limit,
    }
}
