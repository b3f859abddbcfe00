use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{
    Calendar, CostModel, Count, InstanceState, Mean, Moment, NanoUsd, PolicyMode, SLOT, Spec, Tier,
    UsdPerSecond, Work,
};
use thermocline_table::{Config, Deployment, Measured, Sketch, Tally};

use super::{Books, Kept, Paid, steering};
use crate::control::ControlPlane;
use crate::costs::service;
use crate::deployment::Controlled;
use crate::fleet::work_in_hand;
use crate::instance::Instance;

const HOUR_MICROS: i64 = 3_600_000_000;
/// How long a mode that goes by prices waits for the first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// What one look at a deployment sees of it.
struct Look<'d> {
    live: &'d Deployment,
    model: CostModel,
    now: Moment,
    /// Microseconds since 1970, UTC.
    wall: i64,
    serverless_provider: Option<String>,
    /// The most serverless workers that there are.
    most_workers: u32,
    /// Whether nothing is in hand, waiting or up.
    at_rest: bool,
}

impl ControlPlane {
    /// Brings all books up to `now`, and puts the thresholds that follow in force.
    pub(crate) fn keep_books(self: &Arc<Self>, now: Moment) {
        let wall = self.clock.wall_micros();
        for deployment in self.all() {
            self.keep(&deployment, now, wall);
        }
    }

    /// Asks what a deployment costs that was just written or found, where its mode
    /// goes by that; nothing moves until the answer is there, or is late.
    pub(crate) fn begin_books(self: &Arc<Self>, deployment: &Controlled) {
        let config = deployment.live.config.load();
        let mut kept = deployment.books.kept();
        kept.follow(&config.settings);
        if config.settings.mode != PolicyMode::Thresholds {
            kept.asked = self.clock.now();
            self.learn(deployment, &mut kept, &config);
            kept.put_in_force(&deployment.live);
        }
    }

    fn keep(self: &Arc<Self>, deployment: &Controlled, now: Moment, wall: i64) {
        let live = &*deployment.live;
        let config = live.config.load();
        let workers = self.workers_of(deployment);
        let mut kept = deployment.books.kept();
        kept.follow(&config.settings);
        if kept.is_quiet(live) && now < kept.slot + SLOT && deployment.has_no_instances() {
            kept.counted = now;
            return;
        }
        // First of all: what has come is counted by what is known.
        self.learn(deployment, &mut kept, &config);
        let serverless = config.spec.tiers.serverless.as_ref();
        let works = live.in_flight() > 0 || live.waiting() > 0;
        let look = Look {
            live,
            model: *kept.steering.model(),
            now,
            wall,
            serverless_provider: serverless.map(|tier| tier.provider.clone()),
            most_workers: serverless.map_or(1, |tier| tier.max_workers),
            at_rest: !works && paid_pods(deployment).next().is_none(),
        };
        kept.count(&look);
        for pod in paid_pods(deployment) {
            let passed = now.since(kept.counted.max(pod.since));
            let span = pod.instance.payable(passed);
            let usd = pod.price.over(span);
            // Of many looks, the share in which it has nothing in hand is that of time.
            let is_idle = work_in_hand(&pod.instance, workers.as_ref()) == 0;
            let paid = paid_for(span, usd, if is_idle { usd } else { 0.0 });
            kept.pay(&look, pod.payee, paid);
        }
        kept.counted = now;
        if kept.slot + SLOT <= now {
            kept.hold_to_objective(&look, &config.spec);
        }
        while kept.slot + SLOT <= now {
            kept.end_slot(&look);
        }
        kept.put_in_force(live);
    }

    /// Takes over prices and times, as far as they are known now.
    fn learn(self: &Arc<Self>, deployment: &Controlled, kept: &mut Kept, config: &Config) {
        let wait = config.settings.value_of_wait;
        kept.learn(self.model_of(deployment, &config.spec, wait));
        let late = kept.asked + FIRST_ANSWER <= self.clock.now();
        let awaits = !late && self.awaits_prices(&config.spec);
        kept.steering.await_prices(awaits);
    }

    /// Prices as they are known, times as they were measured.
    fn model_of(
        self: &Arc<Self>,
        deployment: &Controlled,
        spec: &Spec,
        wait: UsdPerSecond,
    ) -> CostModel {
        let mut prices = self.prices(spec, wait);
        let real = paid_pods(deployment).next().map(|pod| pod.price);
        prices.pod = real.or(prices.pod);
        CostModel {
            prices,
            work: work_of(&deployment.live.tally, spec),
        }
    }
}

impl Books {
    /// A pod of `live` stops for want of work.
    pub(crate) fn pod_idled(&self, live: &Deployment) {
        let mut kept = self.kept();
        kept.steering.pod_idled();
        kept.put_in_force(live);
    }
}

/// What times the formulas use: measured, the priors where nothing was.
pub(crate) fn work_of(tally: &Tally, spec: &Spec) -> Work {
    let prior = Work::default();
    let concurrency = &spec.concurrency;
    let places = concurrency
        .limit_per_instance()
        .or(concurrency.max_concurrency);
    let idle = spec.idle_timeout(Tier::Serverless);
    let [serverless, pod] = [Tier::Serverless, Tier::Pod].map(|tier| service_of(tally, tier));
    let endpoint = tally.starts[Tier::Serverless].measured();
    let boot = tally.starts[Tier::Pod].measured();
    Work {
        serverless_idle: idle.unwrap_or(prior.serverless_idle),
        concurrency: places.unwrap_or(prior.concurrency),
        ..prior
    }
    .with_services(serverless, pod, of_any_tier(tally))
    .with_cold_start(endpoint.mean, endpoint.count)
    .with_woken(mean_of(&tally.woken), serverless, pod)
    .with_boot(boot.mean, boot.count)
}

fn service_of(tally: &Tally, tier: Tier) -> Mean {
    mean_of(&tally.service[tier])
}

fn mean_of(sketch: &Sketch) -> Mean {
    let Measured { mean, count, .. } = sketch.measured();
    Mean { count, mean }
}

fn of_any_tier(tally: &Tally) -> Mean {
    let means = Tier::ALL.map(|tier| service_of(tally, tier));
    let sum = |one: &Mean| one.mean * u32::try_from(one.count).unwrap_or(u32::MAX);
    let count = means.iter().map(|one| one.count).sum();
    Mean::of(means.iter().map(sum).sum(), count)
}

/// A pod that is paid for.
struct PaidPod {
    payee: super::Payee,
    price: UsdPerSecond,
    since: Moment,
    instance: Arc<Instance>,
}

fn paid_pods(deployment: &Controlled) -> impl Iterator<Item = PaidPod> {
    let instances = deployment.instances().into_iter();
    instances.filter_map(|instance| {
        let exists = !matches!(
            instance.state(),
            InstanceState::Intended | InstanceState::Gone
        );
        let price = UsdPerSecond::hourly(instance.paid_per_hour()?.as_usd())?;
        (exists && instance.tier == Tier::Pod).then(|| PaidPod {
            payee: (instance.tier, instance.provider.name.clone()),
            price,
            since: instance.since,
            instance: instance.clone(),
        })
    })
}

/// `usd`, and of that `idle_usd`, for `span`.
pub(super) fn paid_for(span: Duration, usd: f64, idle_usd: f64) -> Paid {
    Paid {
        micros: i64::try_from(span.as_micros()).unwrap_or(i64::MAX),
        usd,
        idle_usd,
    }
}

impl Kept {
    /// Another mode, or other numbers, begin anew.
    fn follow(&mut self, settings: &thermocline_policy::Settings) {
        let made_for = (settings.mode, settings.thresholds);
        if made_for != self.made_for {
            let model = *self.steering.model();
            self.steering = steering(settings);
            self.steering.learn(&model);
            self.made_for = made_for;
        }
    }

    /// Whether nothing came since the last look, no prices are waited for, and
    /// nothing is remembered of another tier than the one in force.
    fn is_quiet(&self, live: &Deployment) -> bool {
        let on_pod = live.current() == Some(Tier::Pod);
        let remembers = self.made_for.0 == PolicyMode::Regret;
        if remembers && self.steering.regret().on_pod() != on_pod {
            return false;
        }
        let nothing_came = live.arrivals() == self.arrivals && taken(live) == self.taken;
        nothing_came && !self.steering.is_awaiting_prices()
    }

    fn learn(&mut self, model: CostModel) {
        let known = self.steering.model();
        if model.prices != known.prices || model.work.is_news_to(&known.work) {
            self.steering.learn(&model);
        }
    }

    /// The objective at the rate of now.
    fn hold_to_objective(&mut self, look: &Look<'_>, spec: &Spec) {
        let objective = spec.objective.as_ref().map(|objective| objective.p95);
        let rate = look.live.rate(look.now);
        let service = service(&look.live.tally, &look.model, Tier::Serverless).p95;
        self.steering.hold_to(objective, service, rate);
    }

    /// Requests that came, and those that backends took in hand, since the last look.
    ///
    /// What is compared is fed with the same counts at the same times as what is
    /// paid for, so that one tier's own costs come out the same on both sides.
    fn count(&mut self, look: &Look<'_>) {
        let span = look.now.since(self.counted);
        let total = look.live.arrivals();
        self.arrivals_in_slot += total.checked_sub(self.arrivals).unwrap_or(total);
        self.arrivals = total;
        let by_serverless = look.live.traffic[Tier::Serverless].taken();
        let metered = by_serverless.saturating_sub(self.taken_by_serverless);
        self.taken_by_serverless = by_serverless;
        let all = taken(look.live);
        let requests = all.saturating_sub(self.taken);
        self.taken = all;
        let model = &look.model;
        let count = |requests, in_hand| Count {
            start: self.counted,
            span,
            requests,
            in_hand: look.on_workers(in_hand),
        };
        let (all, on_serverless) = (
            count(requests, look.live.in_flight()),
            count(metered, look.live.traffic[Tier::Serverless].in_flight()),
        );
        // What steers goes by what was reckoned, as a replay of the same arrivals does.
        self.shadow.count(&Count { in_hand: 0, ..all }, model);
        let boots = look.live.tally.starts[Tier::Pod].measured();
        if boots.count > 0 {
            self.comparison.measured_boot(model.work.boot);
        }
        self.comparison.count(all, model);
        self.unpriced += self.serverless.count(&on_serverless, &model.work);
        self.pay_workers(look);
    }

    /// Worker time is not told by providers as it runs: it is metered, and paid
    /// for once it has a price.
    fn pay_workers(&mut self, look: &Look<'_>) {
        let (Some(provider), Some(_)) = (&look.serverless_provider, look.model.prices.serverless)
        else {
            return;
        };
        let taken = std::mem::take(&mut self.unpriced);
        if taken.billed > Duration::ZERO {
            let payee = (Tier::Serverless, provider.clone());
            let (usd, idle) = (look.model.billed(&taken), look.model.billed_idle(&taken));
            self.pay(look, payee, paid_for(taken.billed, usd, idle));
        }
    }

    fn pay(&mut self, look: &Look<'_>, payee: super::Payee, paid: Paid) {
        self.comparison.pay(paid.usd);
        self.enter(Calendar::at(look.wall), payee, paid);
    }

    /// Enters what was paid `at` that time wherever it counts.
    pub(super) fn enter(&mut self, at: Calendar, payee: super::Payee, paid: Paid) {
        let unposted = self.unposted.paid.entry((at.hour(), payee.clone()));
        unposted.or_default().add(paid);
        self.paid.entry(payee).or_default().add(paid);
        let cost = NanoUsd::from_usd(paid.usd);
        self.today.add(at.first_hour_of_day(), cost);
        self.this_hour.add(at.hour(), cost);
    }

    fn end_slot(&mut self, look: &Look<'_>) {
        let ended = look.now.since(self.slot + SLOT).as_micros() as i64;
        let begun = look.wall - ended - SLOT.as_micros() as i64;
        self.slot = self.slot + SLOT;
        let cost = self.shadow.end_slot(SLOT, &look.model);
        self.steering.end_slot(cost, look.live.current());
        let arrivals = std::mem::take(&mut self.arrivals_in_slot) as i64;
        if arrivals > 0 {
            let slot = begun.div_euclid(SLOT.as_micros() as i64);
            *self.unposted.arrivals.entry(slot).or_default() += arrivals;
        }
        let (slot, at_rest) = (self.slot, look.at_rest);
        let compared = self
            .comparison
            .end_slot(slot, arrivals, at_rest, &look.model);
        if let Some(added) = compared {
            let hour = begun.div_euclid(HOUR_MICROS);
            added.add_to(&mut self.unposted.what_if, hour);
        }
    }

    fn put_in_force(&self, live: &Deployment) {
        let thresholds = *self.steering.thresholds();
        if live.is_steered() && live.thresholds() != thresholds {
            live.steer(thresholds);
        }
    }
}

impl Look<'_> {
    /// Of so many requests in hand, those that there are workers for.
    fn on_workers(&self, in_hand: u32) -> u64 {
        let places = u64::from(self.model.work.concurrency.max(1));
        u64::from(in_hand).min(u64::from(self.most_workers.max(1)) * places)
    }
}

/// Requests that backends of any tier took in hand so far.
fn taken(live: &Deployment) -> u64 {
    live.traffic.iter().map(|(_, tier)| tier.taken()).sum()
}
