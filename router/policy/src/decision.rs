//! Which tier serves the next request: the rules, in their order.

mod reason;
mod thresholds;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Brake, Tier, TierMap, TierSet};

pub use reason::Reason;
pub use thresholds::{Basis, Thresholds};

/// Whether this machine can serve the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalFit {
    /// An instance is starting or ready, or the floor fits into the live memory.
    Fits,
    /// The floor does not fit into the live memory.
    NoMemory,
    /// The Docker daemon cannot be had.
    NoDaemon,
    /// The last start failed and its back-off has not ended.
    BackingOff,
}

/// How far the deployment's pods are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PodState {
    /// There is none.
    Absent,
    /// One is starting, none is ready.
    Booting,
    /// One is ready.
    Warm,
    /// The last start failed and its back-off has not ended.
    BackingOff,
    /// The last one stopped for want of work, and nothing has come since.
    Idled,
}

/// Everything that a decision depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// The tiers that the deployment has; never empty.
    pub tiers: TierSet,
    /// The tier that a person names.
    pub forced: Option<Tier>,
    /// The tier decided on last.
    pub current: Option<Tier>,
    /// Whether this machine can serve it.
    pub local: LocalFit,
    /// How far its pods are.
    pub pod: PodState,
    /// Whether pods are never to go to zero.
    pub pod_pinned: bool,
    /// Requests that pods have in hand.
    pub pod_in_flight: u32,
    /// Arrivals in the window.
    pub count: u64,
    /// Whether the window has been watched for its whole length.
    pub observed: bool,
    /// Time since the last transition; `None` = there was none.
    pub since_transition: Option<Duration>,
    /// The numbers it is held against.
    pub thresholds: Thresholds,
    /// What budgets forbid.
    pub brakes: TierMap<Brake>,
}

impl View {
    /// Whether budgets let `tier` serve: what runs already may, where only
    /// starts are forbidden. An endpoint commits to nothing, so it is no start.
    fn may_serve(&self, tier: Tier) -> bool {
        match self.brakes[tier] {
            Brake::Off => true,
            Brake::NoStart => tier != Tier::Pod || self.has_pod(),
            Brake::Stop => false,
        }
    }

    /// How much is left of the least time until `tier`, the pod or serverless, may
    /// be moved to; `None` when nothing is.
    pub fn hold_left(&self, tier: Tier) -> Option<Duration> {
        if self.current == Some(tier) {
            return None;
        }
        let hold = self.thresholds.hold_towards(tier);
        let left = hold.saturating_sub(self.since_transition?);
        (left > Duration::ZERO).then_some(left)
    }

    fn has_pod(&self) -> bool {
        matches!(self.pod, PodState::Warm | PodState::Booting)
    }
}

/// The policy's answer for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The tier that should serve.
    pub tier: Tier,
    /// The rule that fired.
    pub reason: Reason,
    /// The tier that serves until `tier` is ready, and why.
    pub meanwhile: Option<(Tier, Reason)>,
}

/// A change of tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The tier before.
    pub from: Tier,
    /// The tier after.
    pub to: Tier,
    /// The rule that fired.
    pub reason: Reason,
}

impl Transition {
    /// Whether it only says that a pod stopped for want of work. That is told,
    /// but counted as no transition: no rate asked for it, and no hold begins.
    pub fn is_idle_stop(&self) -> bool {
        self.from == Tier::Pod && self.reason == Reason::Idle
    }
}

impl Decision {
    /// The tier that the rate asks for and that something else refuses; `reason` says what.
    pub const fn refused(&self) -> Option<Tier> {
        match (self.tier, self.reason) {
            (Tier::Serverless, Reason::NoCapacity | Reason::Budget | Reason::Hold) => {
                Some(Tier::Pod)
            }
            (Tier::Pod, Reason::Busy | Reason::Unobserved | Reason::Hold) => Some(Tier::Serverless),
            _ => None,
        }
    }

    const fn of(tier: Tier, reason: Reason) -> Self {
        Decision {
            tier,
            reason,
            meanwhile: None,
        }
    }
}

/// The tier for the next request. Total: every view has exactly one decision.
///
/// The order of the rules is the product's: forced, dedicated, local if it
/// fits, pod where there is no serverless, a warm pod until the rate is below
/// `demote_rps`, and else by `promote_rps`. Whatever is unknown holds. A budget
/// brakes every one of them: what it refuses is answered with the other paid
/// tier where that may serve, and is refused where a person forced it.
pub fn decide(view: &View) -> Decision {
    if let Some(tier) = view.forced.filter(|tier| view.tiers.has(*tier)) {
        return Decision::of(tier, unless_braked(view, tier, Reason::Forced));
    }
    if view.tiers.has(Tier::Dedicated) {
        return Decision::of(Tier::Dedicated, Reason::Dedicated);
    }
    if view.tiers.has(Tier::Local) && view.local == LocalFit::Fits {
        return Decision::of(Tier::Local, Reason::LocalFits);
    }
    match (view.tiers.has(Tier::Serverless), view.tiers.has(Tier::Pod)) {
        (true, true) => by_rate(view),
        (true, false) if promotes(view) => on_serverless(view, Reason::NoPod),
        (true, false) => on_serverless(view, Reason::BelowPromote),
        (false, true) => {
            let reason = unless_braked(view, Tier::Pod, Reason::NoServerless);
            Decision::of(Tier::Pod, reason)
        }
        (false, false) => Decision::of(Tier::Local, Reason::NoCapacity),
    }
}

/// The tier to wait for where what [`decide`] chose is one of `failed`, in which
/// nothing could be started: another one that budgets let serve. `None` = there is
/// none, or a person wants no other.
pub fn instead(view: &View, failed: TierSet) -> Option<Tier> {
    let chosen = view.forced.is_some_and(|tier| view.tiers.has(tier));
    if chosen || view.tiers.has(Tier::Dedicated) {
        return None;
    }
    let able = |tier: &Tier| match tier {
        Tier::Pod => view.pod != PodState::BackingOff,
        _ => true,
    };
    let left = [Tier::Serverless, Tier::Pod].into_iter();
    left.filter(|tier| view.tiers.has(*tier) && !failed.has(*tier))
        .filter(able)
        .find(|tier| view.may_serve(*tier))
}

fn unless_braked(view: &View, tier: Tier, reason: Reason) -> Reason {
    match view.may_serve(tier) {
        true => reason,
        false => Reason::Budget,
    }
}

fn on_serverless(view: &View, reason: Reason) -> Decision {
    let reason = unless_braked(view, Tier::Serverless, reason);
    Decision::of(Tier::Serverless, reason)
}

/// The change of tier that `decision` of `view` is when it is made the tier in
/// force. The first decision is none, and neither is going on without a pod that
/// is gone although the rate asked for nothing.
pub fn transition(view: &View, decision: &Decision) -> Option<Transition> {
    let from = view.current.filter(|from| *from != decision.tier)?;
    let gone = from == Tier::Pod
        && view.pod == PodState::Absent
        && decision.reason == Reason::BelowPromote;
    (!gone).then_some(Transition {
        from,
        to: decision.tier,
        reason: decision.reason,
    })
}

fn by_rate(view: &View) -> Decision {
    let there = view.has_pod();
    if there && !view.may_serve(Tier::Pod) {
        return Decision::of(Tier::Serverless, Reason::Budget);
    }
    // A pod that was demoted and has not gone yet stays for nobody: coming back
    // to it takes a promotion, or a rate near `demote_rps` would flap.
    let demoted = view.current == Some(Tier::Serverless) && !view.pod_pinned;
    if there && !demoted {
        return match stays(view) {
            Some(reason) => on_pod(view, reason),
            None if !view.may_serve(Tier::Serverless) => on_pod(view, Reason::Budget),
            None => Decision::of(Tier::Serverless, Reason::BelowPromote),
        };
    }
    if view.pod == PodState::Idled {
        // Whatever the window still holds, and budgets say: nobody is served by this,
        // the next request is asked about anew.
        return Decision::of(Tier::Serverless, Reason::Idle);
    }
    match refused_promotion(view) {
        Some(reason) => on_serverless(view, reason),
        None => on_pod(view, promoted_by(view)),
    }
}

fn promoted_by(view: &View) -> Reason {
    match view.thresholds.basis {
        Basis::Objective => Reason::Objective,
        _ => Reason::Promote,
    }
}

/// Why a pod that is there stays; `None` = it does not.
fn stays(view: &View) -> Option<Reason> {
    let below_demote = (view.count as f64) < view.thresholds.demote_count();
    if !below_demote || view.pod_pinned {
        return Some(why_it_stays(view));
    }
    if view.pod_in_flight > 0 {
        return Some(Reason::Busy);
    }
    if !view.observed {
        return Some(Reason::Unobserved);
    }
    view.hold_left(Tier::Serverless).map(|_| Reason::Hold)
}

fn why_it_stays(view: &View) -> Reason {
    if view.thresholds.basis == Basis::Objective && !view.pod_pinned {
        return Reason::Objective;
    }
    // The promotion that started the pod is still its reason while it boots.
    match view.pod == PodState::Booting && promotes(view) {
        true => Reason::Promote,
        false => Reason::PodWarm,
    }
}

/// Why serverless goes on although there is no pod; `None` = promote.
fn refused_promotion(view: &View) -> Option<Reason> {
    if !promotes(view) {
        return Some(Reason::BelowPromote);
    }
    if !view.may_serve(Tier::Pod) {
        return Some(Reason::Budget);
    }
    if view.pod == PodState::BackingOff {
        return Some(Reason::NoCapacity);
    }
    view.hold_left(Tier::Pod).map(|_| Reason::Hold)
}

fn promotes(view: &View) -> bool {
    view.count as f64 >= view.thresholds.promote_count()
}

fn on_pod(view: &View, reason: Reason) -> Decision {
    let waits = view.pod != PodState::Warm && view.may_serve(Tier::Serverless);
    let meanwhile = waits.then_some((Tier::Serverless, Reason::PodBooting));
    Decision {
        tier: Tier::Pod,
        reason,
        meanwhile,
    }
}

#[cfg(test)]
mod tests;
