//! Budgets: what counts against them, what they forbid, and what follows.

mod news;
mod pods;
mod read;
mod spent;
mod until;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thermocline_policy::{
    Brake, Calendar, Ceilings, Commitment, InstanceEvent, InstanceState, LAST_WORK, NanoUsd,
    OverBudget, Spec, Spending, Tier, TierMap, UsdPerSecond,
};
use thermocline_store::{Allowance, InstanceChanges, InstanceRow, NewInstance, StoreError};
use thermocline_table::StartFailed;

use crate::capacity::any;
use crate::config::BudgetConfig;
use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::instance::Instance;
pub(crate) use news::News;
use pods::Pods;
pub(crate) use spent::Spent;

/// The server's ceilings, and what counts against them.
pub(crate) struct Budgets {
    config: BudgetConfig,
    /// What all deployments have spent in this hour of UTC.
    pub(crate) this_hour: Arc<Spent>,
    pods: Mutex<Pods>,
}

/// What budgets forbid a deployment, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Braking {
    pub(crate) brakes: TierMap<Brake>,
    pub(crate) why: TierMap<Option<OverBudget>>,
}

impl Budgets {
    pub(crate) fn new(config: BudgetConfig) -> Self {
        Budgets {
            config,
            this_hour: Arc::default(),
            pods: Mutex::default(),
        }
    }

    /// How long this server may be away before pods end by themselves; zero = for ever.
    pub(crate) fn max_absence(&self) -> Duration {
        self.config.max_absence
    }

    fn pods(&self) -> std::sync::MutexGuard<'_, Pods> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Braking {
    fn set(&mut self, tier: Tier, brake: Brake, why: OverBudget) {
        self.brakes[tier] = brake;
        self.why[tier] = Some(why);
    }
}

impl ControlPlane {
    /// The limits that hold for `spec`.
    fn ceilings(&self, spec: &Spec) -> Ceilings {
        let daily = spec.budget.as_ref().map(|budget| budget.usd_per_day);
        Ceilings {
            usd_per_day: daily.map(NanoUsd::from_usd),
            usd_per_hour: self.budgets.config.usd_per_hour,
            instances: self.budgets.config.instances,
        }
    }

    /// What a provider that tells no price is believed to ask.
    pub(crate) fn assumed(&self, tier: Tier) -> Option<UsdPerSecond> {
        match tier {
            Tier::Serverless => self.budgets.config.assumed_usd_per_second,
            Tier::Pod => self.budgets.config.assumed_usd_per_hour,
            Tier::Dedicated | Tier::Local => None,
        }
    }

    fn calendar(&self) -> Calendar {
        Calendar::at(self.clock.wall_micros())
    }

    fn spending(&self, deployment: &Controlled, instances: &[Arc<Instance>]) -> Spending {
        let at = self.calendar();
        let pods = instances.iter().filter(|i| i.tier == Tier::Pod);
        Spending {
            today: deployment.books.spent_today(at.first_hour_of_day()),
            this_hour: self.budgets.this_hour.within(at.hour()),
            own: self.commitment(pods.filter_map(|i| live_price(i))),
            all: self.budgets.pods().all,
        }
    }

    /// What pods of these prices commit to.
    fn commitment(&self, prices: impl Iterator<Item = Option<NanoUsd>>) -> Commitment {
        Commitment::of(prices, self.assumed(Tier::Pod).map(nano))
    }

    /// What budgets forbid the deployment now.
    fn braking(&self, deployment: &Controlled, instances: &[Arc<Instance>]) -> Braking {
        let config = deployment.live.config.load();
        let ceilings = self.ceilings(&config.spec);
        let mut braking = Braking::default();
        if ceilings.is_none() {
            return braking;
        }
        let (at, spending) = (self.calendar(), self.spending(deployment, instances));
        let has = config.spec.tiers.set();
        // Until a provider was asked, nothing is known against it.
        let known = |tier| self.known_price(&config.spec, tier);
        let price = known(Tier::Pod).map_or(Some(NanoUsd(0)), |price| price.map(nano));
        if let Err(why) = ceilings.start(&spending, price, at) {
            braking.set(Tier::Pod, Brake::NoStart, why);
        }
        if let Err(why) = ceilings.stay(&spending, at) {
            braking.set(Tier::Pod, Brake::Stop, why);
        } else if let Some(why) = self.shed(instances, &ceilings) {
            braking.set(Tier::Pod, Brake::Stop, why);
        }
        let priced = known(Tier::Serverless).is_none_or(|price| price.is_some());
        if let Err(why) = ceilings.work(&spending, priced, at) {
            braking.set(Tier::Serverless, Brake::Stop, why);
        }
        for tier in Tier::ALL.into_iter().filter(|tier| !has.has(*tier)) {
            (braking.brakes[tier], braking.why[tier]) = (Brake::Off, None);
        }
        braking
    }

    /// Puts in force what budgets forbid the deployment.
    pub(crate) fn brake(
        &self,
        deployment: &Controlled,
        instances: &[Arc<Instance>],
    ) -> TierMap<Brake> {
        let braking = self.braking(deployment, instances);
        deployment.set_braking(braking);
        self.tell_braking(deployment);
        braking.brakes
    }

    /// Tells what budgets forbid the deployment, where that is news and lasts.
    fn tell_braking(&self, deployment: &Controlled) {
        let (braking, now) = (deployment.braking(), self.clock.now());
        for tier in [Tier::Serverless, Tier::Pod] {
            if deployment.brake_is_news(tier, now) {
                self.tell_brake(deployment, tier, &braking);
            }
        }
    }

    /// Looks at every deployment's budgets again. What has changed is in force
    /// when it returns.
    pub(crate) fn heed_budgets(self: &Arc<Self>) {
        self.weigh_pods();
        for deployment in self.all() {
            let config = deployment.live.config.load();
            if !self.ceilings(&config.spec).is_none() {
                if deployment.braking().brakes[Tier::Pod] == Brake::NoStart {
                    self.doubt_price(&config.spec, Tier::Pod);
                }
                // Kept fresh, since it is held against them.
                self.prices(&config.spec, UsdPerSecond::ZERO);
            }
            let braking = self.braking(&deployment, &deployment.instances());
            // What a budget with room again once refused is no reason any more.
            let free = Tier::CREATED.map(|tier| (tier, braking.brakes[tier]));
            let free = free.into_iter().filter(|(_, brake)| *brake == Brake::Off);
            let free: Vec<Tier> = free.map(|(tier, _)| tier).collect();
            deployment.forget_failures(&free, "budget");
            if braking.brakes != deployment.live.capacity.load().brakes {
                self.publish(&deployment);
                deployment.bump();
                self.nudge(&deployment);
            }
            self.tell_braking(&deployment);
        }
    }

    /// How many pods the budgets leave of those that run; `None` = all, and more.
    pub(crate) fn afforded(&self, deployment: &Controlled, tier: Tier) -> Option<u32> {
        let brake = deployment.braking().brakes[tier];
        if tier != Tier::Pod || brake == Brake::Off {
            return None;
        }
        let instances = deployment.instances();
        let up = instances.iter().filter(|i| i.tier == tier && is_up(i));
        match brake {
            Brake::Stop if self.is_day_over(deployment, &instances) => Some(0),
            _ => {
                let pods = self.budgets.pods();
                Some(up.filter(|i| !pods.above.contains(&i.id)).count() as u32)
            }
        }
    }

    fn is_day_over(&self, deployment: &Controlled, instances: &[Arc<Instance>]) -> bool {
        let ceilings = deployment.with_spec(|spec| self.ceilings(spec));
        let spending = self.spending(deployment, instances);
        ceilings.stay(&spending, self.calendar()).is_err()
    }

    /// Why `tier` may not be brought up.
    pub(crate) fn braked(&self, deployment: &Controlled, tier: Tier) -> Option<StartFailed> {
        let braking = deployment.braking();
        let there = || {
            let up = |s: &InstanceState| s.is_starting() || s.is_ready();
            any(&deployment.instances(), tier, up)
        };
        let refused = match braking.brakes[tier] {
            Brake::Off => false,
            Brake::NoStart => !there(),
            Brake::Stop => true,
        };
        let why = braking.why[tier].filter(|_| refused)?;
        let mut failed = self.over_budget(why);
        if let Some(asked) = self.price_asked_in(deployment, tier, &why) {
            failed.retry_after = failed.retry_after.min(asked);
        }
        Some(failed)
    }

    /// In what time another price may end the refusal, a second at least; `None` where
    /// no price would.
    fn price_asked_in(
        &self,
        deployment: &Controlled,
        tier: Tier,
        why: &OverBudget,
    ) -> Option<Duration> {
        let priced = match why {
            OverBudget::Day { limit, needed, .. } => needed > limit,
            OverBudget::Rate { .. } | OverBudget::Unpriced => true,
            OverBudget::Hour { .. } | OverBudget::Instances { .. } => false,
        };
        let asked = deployment.with_spec(|spec| self.price_asked_again(spec, tier));
        let left = asked.filter(|_| priced)? - self.clock.wall_micros();
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        Some(left.max(Duration::from_secs(1)))
    }

    /// The failure of a start that a budget refused.
    pub(crate) fn over_budget(&self, why: OverBudget) -> StartFailed {
        StartFailed {
            code: "budget",
            detail: why.to_string(),
            retry_after: why.retry_after(self.calendar()),
        }
    }

    /// Learns what `tier` costs before it is held against a budget.
    pub(crate) async fn know_price(self: &Arc<Self>, deployment: &Controlled, tier: Tier) {
        let config = deployment.live.config.load_full();
        if self.ceilings(&config.spec).is_none() || self.known_price(&config.spec, tier).is_some() {
            return;
        }
        self.asked_price(&config.spec, tier).await;
        self.publish(deployment);
    }

    /// What a pod of `spec` will cost, where that is known; asked for where it
    /// is held against a budget.
    pub(crate) async fn pod_price(self: &Arc<Self>, spec: &Spec, tier: Tier) -> Option<NanoUsd> {
        if tier != Tier::Pod {
            return None;
        }
        let price = match self.ceilings(spec).is_none() {
            true => self.known_price(spec, tier).flatten(),
            false => self.asked_price(spec, tier).await,
        };
        price.map(nano)
    }

    /// Writes an intent down, if the budgets hold it.
    ///
    /// # Errors
    /// The store's; [`StoreError::OverBudget`] where they do not.
    pub(crate) async fn intend(
        &self,
        deployment: &Controlled,
        new: &NewInstance,
    ) -> Result<InstanceRow, StoreError> {
        let now = self.clock.wall_micros();
        let ceilings = deployment.with_spec(|spec| self.ceilings(spec));
        if new.tier != Tier::Pod || ceilings.is_none() {
            return self.store.intend(new, now).await;
        }
        let at = Calendar::at(now);
        let allowance = Allowance {
            ceilings,
            today: deployment.books.spent_today(at.first_hour_of_day()),
            this_hour: self.budgets.this_hour.within(at.hour()),
            assumed: self.assumed(Tier::Pod).map(nano),
            unpaid: self.only_looked_for(),
        };
        self.store.intend_within(&allowance, new, now).await
    }

    fn only_looked_for(&self) -> Vec<String> {
        let index = self.index();
        let unpaid = index.values().filter(|it| it.is_only_looked_for());
        unpaid.map(|it| it.id.clone()).collect()
    }

    /// Why a pod that turned out to be dearer than was `asked` for it may not
    /// stay: its real price does not fit into a budget.
    pub(crate) fn costs_too_much(
        self: &Arc<Self>,
        deployment: &Controlled,
        instance: &Instance,
        asked: Option<NanoUsd>,
    ) -> Option<StartFailed> {
        let real = instance.usd_per_hour()?;
        if instance.tier != Tier::Pod || asked.is_some_and(|asked| real <= asked) {
            return None;
        }
        self.weigh_pods();
        let ceilings = deployment.with_spec(|spec| self.ceilings(spec));
        let mut spending = self.spending(deployment, &deployment.instances());
        // It is one of them already.
        spending.all.instances = spending.all.instances.saturating_sub(1);
        let fits = ceilings.start(&spending, Some(NanoUsd(0)), self.calendar());
        let why = fits.err()?;
        if let Some(real) = UsdPerSecond::hourly(real.as_usd()) {
            let begun = instance.since;
            deployment.with_spec(|spec| self.overrule_price(spec, Tier::Pod, real, begun));
        }
        Some(self.over_budget(why))
    }

    /// Deletes pods that a budget has stopped, whatever they still have in hand
    /// once their time for it is over.
    pub(crate) async fn cut_last_work(self: &Arc<Self>, deployment: &Arc<Controlled>) {
        if deployment.braking().brakes[Tier::Pod] != Brake::Stop {
            return;
        }
        let now = self.clock.wall_micros();
        for instance in deployment.instances() {
            let row = instance.row();
            let drains = matches!(row.state, InstanceState::Draining { .. });
            let over = now.saturating_sub(row.changed_at) >= LAST_WORK.as_micros() as i64;
            if row.tier == Tier::Pod && drains && over {
                let changes = InstanceChanges::default();
                self.advance(deployment, &instance, InstanceEvent::Stop, changes)
                    .await;
            }
        }
    }
}

/// Its price if it is a pod that may be paid for; the inner `None` = unknown.
fn live_price(instance: &Instance) -> Option<Option<NanoUsd>> {
    let paid = instance.state() != InstanceState::Gone && !instance.is_only_looked_for();
    paid.then(|| instance.usd_per_hour())
}

fn is_up(instance: &Instance) -> bool {
    let state = instance.state();
    state.is_starting() || state.is_ready()
}

fn nano(price: UsdPerSecond) -> NanoUsd {
    NanoUsd::from_usd(price.as_usd_per_hour())
}
