use std::time::Duration;

use thermocline_policy::{
    Count, Decision, LocalFit, Margins, Mean, Moment, PodState, Reason, ServerlessMeter, Shadow,
    Steering, Thresholds, Tier, TierLoad, TierMap, TierSet, View, Window, decide, scale,
    transition,
};

use crate::assumptions::Assumptions;
use crate::candidate::Candidate;
use crate::pods::Pods;
use crate::tally::{Quantiles, Tally};

/// How often the control plane looks at a deployment of which something exists.
const TICK: Duration = Duration::from_secs(1);

/// A change of tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// When.
    pub at: Moment,
    /// The tier after.
    pub to: Tier,
    /// The rule that fired.
    pub reason: Reason,
    /// Whether that is a transition: the first decision and going on without a
    /// pod that stopped idle are none.
    pub transition: bool,
}

/// One deployment under one policy on a virtual clock.
#[derive(Debug)]
pub struct Run {
    assumptions: Assumptions,
    tiers: TierSet,
    pinned: bool,
    steering: Steering,
    window: Window,
    watched: Moment,
    current: Option<Tier>,
    last_transition: Option<Moment>,
    pods: Pods,
    serverless: ServerlessMeter,
    /// Whether a start of the pod is under way for somebody.
    requested: bool,
    /// Whether the pod stopped for want of work, and nothing has come since.
    idled: bool,
    next_tick: Moment,
    slot: Moment,
    /// The second in which the last request came, and how many came in it.
    second: (Moment, u64),
    /// Both tiers alone, for the mode that compares them.
    shadow: Option<Shadow>,
    /// Service times so far, by tier: their sum, and how many.
    served: TierMap<(Duration, u64)>,
    /// What it is held to, and the service times of serverless.
    objective: Option<(Duration, Quantiles)>,
    switches: Vec<Switch>,
    tally: Tally,
}

impl Run {
    /// Nothing has happened yet, and the clock stands at its origin.
    pub fn new(candidate: Candidate, assumptions: &Assumptions) -> Self {
        let now = Moment::ORIGIN;
        let (mut thresholds, margins) = (assumptions.thresholds, margins_of(candidate));
        if let Candidate::Thresholds { promote, demote } = candidate {
            (thresholds.promote_rps, thresholds.demote_rps) = (promote, demote);
        }
        let tiers = match candidate {
            Candidate::Always(Tier::Serverless) => TierSet::EMPTY.with(Tier::Serverless),
            _ => assumptions.tiers,
        };
        let mut steering = Steering::new(candidate.mode(), margins, thresholds);
        steering.learn(&assumptions.model);
        let work = &assumptions.model.work;
        let mut run = Run {
            tiers,
            pinned: candidate == Candidate::Always(Tier::Pod),
            window: Window::new(steering.thresholds().window, now),
            steering,
            watched: now,
            current: None,
            last_transition: None,
            pods: Pods::new(work.boot, assumptions.pod_failures, assumptions.seed),
            serverless: ServerlessMeter::default(),
            requested: false,
            idled: false,
            next_tick: now + TICK,
            slot: now,
            second: (now, 0),
            shadow: (candidate == Candidate::Regret).then(Shadow::default),
            served: TierMap::default(),
            objective: assumptions
                .objective
                .filter(|_| !matches!(candidate, Candidate::Always(_)))
                .map(|objective| (objective, Quantiles::default())),
            switches: Vec::new(),
            tally: Tally::default(),
            assumptions: assumptions.clone(),
        };
        run.pass(now);
        run
    }

    /// A request arrives at `now` (never before the last) and takes `service` on
    /// serverless, and on a pod in proportion.
    /// What the policy decided for it.
    pub fn arrive(&mut self, now: Moment, service: Duration) -> Decision {
        self.advance_to(now);
        self.count(now);
        self.window.record(now);
        self.idled = false;
        let view = self.view(now);
        let decision = decide(&view);
        let changed = self.commit(&view, &decision, now);
        // Who finds the tier cold asks for it; the start goes on without them.
        let asks = decision.tier == Tier::Pod && !self.pods.is_ready() && !self.requested;
        self.requested |= asks;
        if changed || asks {
            self.pass(now);
        }
        self.serve(decision, now, service);
        decision
    }

    /// Lets time pass until `now`.
    pub fn advance_to(&mut self, now: Moment) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            self.happen(at);
        }
    }

    /// Ends the replay at `now`, and the pod's bill with the work in its hand.
    pub(crate) fn end(&mut self, now: Moment) {
        self.advance_to(now);
        let done = self.pods.work_ends().map_or(now, |end| end.max(now));
        self.pods.stop(done, &mut self.tally);
        let price = self.assumptions.model.prices.pod.unwrap_or_default();
        self.tally.usd += price.as_usd() * self.tally.pod_s;
    }

    /// Every change of tier so far.
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The thresholds in force.
    pub fn thresholds(&self) -> &Thresholds {
        self.steering.thresholds()
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    fn next_event(&self) -> Option<Moment> {
        let tick = self.is_awake().then_some(self.next_tick);
        let slot = Some(self.slot + self.assumptions.slot);
        [tick, slot, self.pods.ready_at()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether the control plane would look at it each second.
    fn is_awake(&self) -> bool {
        self.pods.exists() || self.requested || self.pinned
    }

    fn happen(&mut self, now: Moment) {
        if self.pods.ready_at().is_some_and(|at| at <= now) {
            self.pods.became_ready();
            self.requested = false;
        }
        if self.slot + self.assumptions.slot <= now {
            self.end_slot();
        }
        if self.next_tick <= now {
            let ticks = now.nanos() / TICK.as_nanos() as u64 + 1;
            self.next_tick = Moment::from_nanos(ticks * TICK.as_nanos() as u64);
        }
        self.pass(now);
    }

    fn end_slot(&mut self) {
        self.flush();
        self.learn();
        let slot = self.assumptions.slot;
        self.hold_to_objective(self.slot + slot);
        if let Some(shadow) = &mut self.shadow {
            let cost = shadow.end_slot(slot, self.steering.model());
            self.steering.end_slot(cost, self.current);
        }
        self.slot = self.slot + slot;
        let span = self.steering.thresholds().window;
        if self.window.span() != Window::new(span, self.slot).span() {
            let seen = self.window.span();
            self.watched = self.watched.max(self.slot.before(seen));
            self.window = self.window.resized(span, self.slot);
        }
    }

    fn hold_to_objective(&mut self, now: Moment) {
        let Some((objective, service)) = &self.objective else {
            return;
        };
        let rate = self.window.rate(now, self.watched);
        let p95 = service.known_at(0.95);
        let p95 = p95.unwrap_or(self.steering.model().work.service);
        self.steering.hold_to(Some(*objective), p95, rate);
    }

    /// Times are measured as they would be; prices stay.
    fn learn(&mut self) {
        let mut model = self.assumptions.model;
        let mean = |tier| {
            let (sum, count) = self.served[tier];
            Mean::of(sum, count)
        };
        let [serverless, pod] = [Tier::Serverless, Tier::Pod].map(mean);
        // Whichever has none takes the other's.
        let any = if pod.count > 0 { pod } else { serverless };
        model.work = model.work.with_services(serverless, pod, any);
        if model.work.is_news_to(&self.steering.model().work) {
            self.steering.learn(&model);
        }
    }

    /// Arrivals are told to the shadow second by second, as ticks of the control plane are.
    fn count(&mut self, now: Moment) {
        if self.second.0 + TICK <= now {
            self.flush();
            let tick = TICK.as_nanos() as u64;
            self.second.0 = Moment::from_nanos(now.nanos() / tick * tick);
        }
        self.second.1 += 1;
    }

    fn flush(&mut self) {
        let arrivals = std::mem::take(&mut self.second.1);
        if let Some(shadow) = &mut self.shadow {
            let count = Count {
                start: self.second.0,
                span: TICK,
                requests: arrivals,
                in_hand: 0, // each takes as long as it was reckoned to
            };
            shadow.count(&count, self.steering.model());
        }
    }

    /// One look at the deployment: decide again, scale, plan, apply.
    fn pass(&mut self, now: Moment) {
        if self.current.is_some() {
            let view = self.view(now);
            self.commit(&view, &decide(&view), now);
        }
        let pod = TierLoad {
            requested: self.requested,
            idle_timeout: self.steering.pod_idle(self.assumptions.pod_idle),
            min: u32::from(self.pinned),
            max: 1,
            ..self.pods.load(now)
        };
        let live = pod.live;
        let mut loads = TierMap::default();
        loads[Tier::Serverless] = Some(endpoint());
        loads[Tier::Pod] = self.tiers.has(Tier::Pod).then_some(pod);
        let target = scale(&loads, self.current, false, 1)[Tier::Pod];
        if target.count != live || self.pods.exists() != (live > 0) {
            self.pods.apply(target.count, now, &mut self.tally);
            self.requested &= !self.pods.backing_off(now);
        }
        if target.is_idle_stop() {
            self.idled = true;
            self.steering.pod_idled();
            let view = self.view(now);
            self.commit(&view, &decide(&view), now);
        }
    }

    fn view(&mut self, now: Moment) -> View {
        let pod = match self.pods.state(now) {
            PodState::Absent if self.idled => PodState::Idled,
            state => state,
        };
        View {
            pod,
            tiers: self.tiers,
            forced: None,
            current: self.current,
            local: LocalFit::NoDaemon,
            pod_pinned: self.pinned,
            pod_in_flight: self.pods.in_flight(now),
            count: self.window.observe(now).count,
            observed: now.since(self.watched) >= self.window.span(),
            since_transition: self.last_transition.map(|at| now.since(at)),
            thresholds: *self.steering.thresholds(),
            brakes: TierMap::default(),
        }
    }

    /// Whether `decision` changed the tier, by a transition or without one.
    fn commit(&mut self, view: &View, decision: &Decision, now: Moment) -> bool {
        let before = self.current.replace(decision.tier);
        if before == Some(decision.tier) {
            return false;
        }
        let told = transition(view, decision);
        let transition = told.is_some_and(|it| !it.is_idle_stop());
        self.switches.push(Switch {
            at: now,
            to: decision.tier,
            reason: decision.reason,
            transition,
        });
        self.requested |= decision.tier == Tier::Pod && !self.pods.is_ready();
        if transition {
            self.tally.transitions += 1;
            self.last_transition = Some(now);
        }
        true
    }

    /// On the pod if it is decided on and has a place, else on serverless.
    fn serve(&mut self, decision: Decision, now: Moment, service: Duration) {
        let work = self.assumptions.model.work;
        let took = work.on_pod(service);
        if decision.tier == Tier::Pod && self.pods.take(now, took, work.concurrency) {
            return self.served(Tier::Pod, Duration::ZERO, took);
        }
        let taken = self.serverless.take(now, service, &work);
        self.tally.cold_starts += taken.cold_starts;
        self.tally.usd += self.assumptions.model.paid(&taken);
        self.served(Tier::Serverless, taken.wait, service);
    }

    fn served(&mut self, tier: Tier, wait: Duration, service: Duration) {
        self.tally.waits.add(wait);
        self.tally.responses.add(wait + service);
        if let (Some((_, on_serverless)), Tier::Serverless) = (&mut self.objective, tier) {
            on_serverless.add(service);
        }
        let (sum, count) = &mut self.served[tier];
        (*sum, *count) = (*sum + service, *count + 1);
    }
}

/// A serverless endpoint costs nothing without work, so it is always there.
fn endpoint() -> TierLoad {
    TierLoad {
        live: 1,
        ready: 1,
        max: 1,
        ..TierLoad::default()
    }
}

fn margins_of(candidate: Candidate) -> Margins {
    match candidate {
        Candidate::BreakEven(margins) => margins,
        _ => Margins::default(),
    }
}
