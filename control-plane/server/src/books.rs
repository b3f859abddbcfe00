//! What each deployment's traffic costs, would have cost on one tier alone, and
//! what follows from that for its thresholds.
//!
//! Kept second by second in memory, added to the store every ten seconds.

mod absence;
mod compare;
mod keep;
mod post;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_policy::{
    BreakEven, CostModel, Margins, Moment, NanoUsd, PolicyMode, Regret, SLOT, ServerlessMeter,
    Settings, Shadow, Steering, Taken, Thresholds, Tier,
};
use thermocline_store::Measure;
use thermocline_table::Measured;

use crate::budget::Spent;

use compare::Comparison;

pub(crate) use keep::work_of;
pub(crate) use post::ARRIVALS_KEPT;

/// One deployment's books.
#[derive(Debug)]
pub(crate) struct Books(Mutex<Kept>);

/// Whom something was paid to, and for which tier.
pub(crate) type Payee = (Tier, String);

/// An amount with the instance-time that it was paid for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Paid {
    micros: i64,
    pub(crate) usd: f64,
    /// Of that, for time without a request in hand.
    idle_usd: f64,
}

#[derive(Debug)]
struct Kept {
    steering: Steering,
    /// Both tiers alone, as the steering weighs them.
    shadow: Shadow,
    /// The mode and thresholds that the steering was made for.
    made_for: (PolicyMode, Thresholds),
    comparison: Comparison,
    /// The endpoint as it was really used.
    serverless: ServerlessMeter,
    /// What it took that has no price yet.
    unpriced: Taken,
    /// When prices were asked for that the mode goes by.
    asked: Moment,
    /// Until when everything is counted.
    counted: Moment,
    /// Where the slot that runs began.
    slot: Moment,
    arrivals: u64,
    arrivals_in_slot: u64,
    /// Requests that backends took in hand: of all tiers, of serverless.
    taken: u64,
    taken_by_serverless: u64,
    /// Since the books were begun, those of earlier processes included.
    paid: BTreeMap<Payee, Paid>,
    /// Within this day of UTC.
    today: Spent,
    /// By all deployments, within this hour of UTC.
    this_hour: Arc<Spent>,
    unposted: Unposted,
    /// Measures as they were written down last.
    saved: BTreeMap<(Tier, Measure), Measured>,
}

/// What is not written down yet, by the hour (since 1970).
#[derive(Debug, Default)]
struct Unposted {
    paid: BTreeMap<(i64, Payee), Paid>,
    what_if: BTreeMap<i64, WhatIf>,
    /// By the slot (since 1970).
    arrivals: BTreeMap<i64, i64>,
}

/// What the same requests cost, and would have cost otherwise, dollars.
#[derive(Debug, Clone, Copy, Default)]
struct WhatIf {
    arrivals: i64,
    paid: f64,
    serverless: f64,
    pod: f64,
    optimum: f64,
}

/// What is known of a deployment's prices and times, and what follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steer {
    pub(crate) model: CostModel,
    pub(crate) break_even: BreakEven,
    pub(crate) regret: Regret,
    /// Whether it is on pods for its objective, whatever they cost.
    pub(crate) held_to_objective: bool,
}

impl Books {
    /// Empty books at `now`, that count towards what all spend in `this_hour`.
    pub(crate) fn new(settings: &Settings, now: Moment, this_hour: Arc<Spent>) -> Self {
        let slot = SLOT.as_nanos() as u64;
        Books(Mutex::new(Kept {
            steering: steering(settings),
            made_for: (settings.mode, settings.thresholds),
            shadow: Shadow::default(),
            comparison: Comparison::begin(now),
            serverless: ServerlessMeter::default(),
            unpriced: Taken::default(),
            asked: now,
            counted: now,
            slot: Moment::from_nanos(now.nanos() / slot * slot),
            arrivals: 0,
            arrivals_in_slot: 0,
            taken: 0,
            taken_by_serverless: 0,
            paid: BTreeMap::new(),
            today: Spent::default(),
            this_hour,
            unposted: Unposted::default(),
            saved: BTreeMap::new(),
        }))
    }

    /// How long a pod may stay without work, at most `limit`.
    pub(crate) fn pod_idle(&self, limit: Duration) -> Duration {
        self.kept().steering.pod_idle(limit)
    }

    /// Everything paid so far, by tier and provider.
    pub(crate) fn paid(&self) -> Vec<(Payee, Paid)> {
        let kept = self.kept();
        kept.paid
            .iter()
            .map(|(to, paid)| (to.clone(), *paid))
            .collect()
    }

    /// What was paid since the day of UTC began with hour `first_hour`.
    pub(crate) fn spent_today(&self, first_hour: i64) -> NanoUsd {
        self.kept().today.within(first_hour)
    }

    /// The prices and times that are known.
    pub(crate) fn model(&self) -> CostModel {
        *self.kept().steering.model()
    }

    /// What is known, and what follows, with `on` in force.
    pub(crate) fn steer(&self, on: Tier) -> Steer {
        let kept = self.kept();
        Steer {
            model: *kept.steering.model(),
            break_even: kept.steering.break_even(),
            regret: kept.steering.regret().seen_from(on),
            held_to_objective: kept.steering.is_held_to_objective(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Paid {
    fn add(&mut self, more: Paid) {
        self.micros += more.micros;
        self.usd += more.usd;
        self.idle_usd += more.idle_usd;
    }
}

fn steering(settings: &Settings) -> Steering {
    Steering::new(settings.mode, Margins::default(), settings.thresholds)
}
