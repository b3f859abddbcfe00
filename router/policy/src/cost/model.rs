use std::time::Duration;

use super::blocking::blocked;
use super::poisson::{NEGLIGIBLE, PoissonTail};
use crate::{Rate, Taken, UsdPerSecond, Work};

/// The share of a pod's places that are planned to be taken; the rest is for bursts.
const PLANNED_UTILISATION: f64 = 0.7;
/// Workers beyond this many are counted as a flow, not one by one.
const MOST_LAYERS: u32 = 64;

/// What capacity and waiting cost. A tier that nobody prices has `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prices {
    /// A serverless worker, while it is busy or about to idle out.
    pub serverless: Option<UsdPerSecond>,
    /// A pod, while it exists.
    pub pod: Option<UsdPerSecond>,
    /// A second of one user's waiting; 0 = money alone counts.
    pub wait: UsdPerSecond,
}

/// Prices and times of one deployment: what the formulas need.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CostModel {
    /// What things cost.
    pub prices: Prices,
    /// How long they take.
    pub work: Work,
}

/// A serverless tier under a steady rate.
#[derive(Default)]
struct Steady {
    /// Mean number of workers that are billed.
    workers: f64,
    /// Mean number of users that wait for a cold start.
    waiting: f64,
    /// Cold starts a second.
    cold_starts: f64,
}

impl CostModel {
    /// What `rate` costs on serverless alone, waiting included; `None` without a price.
    ///
    /// Poisson arrivals. The first worker is an M/G/∞ queue that stays on for
    /// D = service + idle after each arrival: off for 1/λ, cold for c, on for
    /// (e^{λD} − 1)/λ on average. Each further worker sees the arrivals that
    /// find those before it full.
    pub fn serverless(&self, rate: Rate) -> Option<UsdPerSecond> {
        let steady = self.steady(rate);
        let wait = self.prices.wait.as_usd() * steady.waiting;
        UsdPerSecond::of(self.prices.serverless?.as_usd() * steady.workers + wait)
    }

    /// What `rate` costs on pods, with serverless for what they have no place
    /// for, waiting included; `None` without a price.
    ///
    /// That share is Erlang's B. It comes in bunches, which cost less than as many
    /// arrivals far apart: this is up to 30 % too dear where pods are as full as they
    /// may be, and within 1 % where they are a third as full.
    pub fn pod(&self, rate: Rate) -> Option<UsdPerSecond> {
        let pods = self.pods(rate);
        let load = rate.within(self.work.service_on_pod);
        let places = u64::from(pods) * u64::from(self.work.concurrency.max(1));
        let spill = self.steady(rate.times(blocked(load, places)));
        let serverless = self.prices.serverless.unwrap_or_default().as_usd() * spill.workers;
        let machines = self.prices.pod?.as_usd() * f64::from(pods);
        UsdPerSecond::of(machines + serverless + self.prices.wait.as_usd() * spill.waiting)
    }

    /// Pods that `rate` needs: max(1, ⌈λs/(kρ)⌉) with ρ = 0.7.
    pub fn pods(&self, rate: Rate) -> u32 {
        let places = f64::from(self.work.concurrency.max(1)) * PLANNED_UTILISATION;
        (rate.within(self.work.service_on_pod) / places)
            .ceil()
            .max(1.0) as u32
    }

    /// Cold starts a second on serverless alone.
    pub fn cold_starts(&self, rate: Rate) -> Rate {
        Rate::per_second(self.steady(rate).cold_starts).unwrap_or_default()
    }

    /// The share of requests that wait for a cold start on serverless alone, 0 to 1.
    pub fn waiting_share(&self, rate: Rate) -> f64 {
        let joined = 1.0 + rate.within(self.work.cold_start);
        let cold = self.steady(rate).cold_starts * joined;
        match rate.as_per_second() > 0.0 {
            true => (cold / rate.as_per_second()).min(1.0),
            false => 1.0,
        }
    }

    /// What 95 of 100 requests wait at most on serverless alone. Who comes during
    /// a cold start waits for what is left of it, so waits are spread evenly.
    pub fn wait_p95(&self, rate: Rate) -> Duration {
        let share = self.waiting_share(rate);
        match share > 0.05 {
            true => self.work.cold_start.mul_f64(1.0 - 0.05 / share),
            false => Duration::ZERO,
        }
    }

    /// What a move from one tier to the other and back costs, dollars: a boot
    /// that is paid for while serverless serves, and a cold start.
    pub fn switch_usd(&self) -> f64 {
        self.boot_usd() + self.cold_usd()
    }

    /// A boot, dollars; 0 without a price.
    pub(crate) fn boot_usd(&self) -> f64 {
        self.prices.pod.unwrap_or_default().over(self.work.boot)
    }

    /// A cold start, billed share and one user's wait, dollars.
    fn cold_usd(&self) -> f64 {
        let billed = self.prices.serverless.unwrap_or_default().as_usd() * self.billed_cold_share();
        (billed + self.prices.wait.as_usd()) * self.work.cold_start.as_secs_f64()
    }

    /// What is billed for `taken`, dollars: worker time.
    pub fn billed(&self, taken: &Taken) -> f64 {
        self.prices
            .serverless
            .unwrap_or_default()
            .over(taken.billed)
    }

    /// What of that is for time without a request in hand, dollars.
    pub fn billed_idle(&self, taken: &Taken) -> f64 {
        self.prices.serverless.unwrap_or_default().over(taken.idle)
    }

    /// What `taken` is worth, dollars: worker time and the users' waiting.
    pub fn paid(&self, taken: &Taken) -> f64 {
        self.billed(taken) + self.prices.wait.over(taken.wait)
    }

    /// How long a pod without work is worth keeping: until that has cost as much
    /// as going and coming back, β/p = B + (v + b·p_s)·c/p_p (ski rental, at most
    /// twice the best possible). `None` when the pod costs nothing.
    pub fn worth_keeping(&self) -> Option<Duration> {
        let price = self
            .prices
            .pod
            .filter(|price| *price > UsdPerSecond::ZERO)?;
        Duration::try_from_secs_f64(self.switch_usd() / price.as_usd()).ok()
    }

    fn billed_cold_share(&self) -> f64 {
        self.work.billed_cold_share.clamp(0.0, 1.0)
    }

    fn steady(&self, rate: Rate) -> Steady {
        match self.work.concurrency {
            0 | 1 => self.one_at_a_time(rate),
            _ => self.layers(rate),
        }
    }

    /// Workers that batch: each is one of its own for the arrivals that find those
    /// before it full.
    fn layers(&self, rate: Rate) -> Steady {
        let places = self.work.concurrency.max(1);
        let load = rate.within(self.work.service);
        let mut sum = Steady::default();
        let mut tail = PoissonTail::of(load);
        for layer in 0..MOST_LAYERS {
            let share = tail.at_least(u64::from(layer) * u64::from(places));
            if share < NEGLIGIBLE {
                return sum;
            }
            sum.add(&self.worker(rate.times(share)));
        }
        // Beyond that, a flow: workers are as busy as they can be.
        let beyond = load / f64::from(places) - f64::from(MOST_LAYERS);
        sum.workers += beyond.max(0.0);
        sum
    }

    /// One worker that batches whatever comes.
    fn worker(&self, rate: Rate) -> Steady {
        let lambda = rate.as_per_second();
        let cold = self.work.cold_start.as_secs_f64();
        let stays = (self.work.service + self.work.serverless_idle).as_secs_f64();
        // Everything over e^{λD}, which may be too large to write down.
        let off = (-lambda * stays).exp();
        let cycle = 1.0 + lambda * cold * off;
        let on = 1.0 - off + lambda * self.billed_cold_share() * cold * off;
        let first = lambda * off / cycle;
        // A worker that is cold takes as many as it has places; the rest start more.
        let more = first * self.overflows(lambda * cold);
        let each = cold * self.billed_cold_share() + stays;
        let cold_starts = first + more;
        Steady {
            workers: on / cycle + more * each,
            // The first waits for all of it, those who join for half on average.
            waiting: first * cold * (1.0 + lambda * cold / 2.0),
            cold_starts,
        }
    }

    /// Further workers that a cold start leads to, when `joined` join it on average.
    fn overflows(&self, joined: f64) -> f64 {
        let mut tail = PoissonTail::of(joined);
        let places = u64::from(self.work.concurrency.max(1));
        let shares = (1..=u64::from(MOST_LAYERS)).map(|layer| tail.at_least(layer * places));
        shares.take_while(|share| *share > NEGLIGIBLE).sum()
    }

    /// Workers that take one request at a time: each arrival that finds none
    /// idle starts one.
    fn one_at_a_time(&self, rate: Rate) -> Steady {
        let lambda = rate.as_per_second();
        let cold = self.work.cold_start.as_secs_f64();
        let idle = self.work.serverless_idle.as_secs_f64();
        let missed = (-lambda * idle).exp();
        let cold_starts = lambda * missed;
        Steady {
            workers: rate.within(self.work.service)
                + (1.0 - missed)
                + cold_starts * self.billed_cold_share() * cold,
            waiting: cold_starts * cold,
            cold_starts,
        }
    }
}

impl Steady {
    fn add(&mut self, other: &Steady) {
        self.workers += other.workers;
        self.waiting += other.waiting;
        self.cold_starts += other.cold_starts;
    }
}
