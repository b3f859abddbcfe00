//! Which tier serves the next request: the rules, in their order.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Brake, Tier, TierMap, TierSet};

/// The numbers of mode `thresholds`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The window over which arrivals are counted.
    pub window: Duration,
    /// Requests a second from which a pod serves.
    pub promote_rps: f64,
    /// Requests a second below which it stops serving.
    pub demote_rps: f64,
    /// The least time between two transitions.
    pub hold: Duration,
    /// No promotion with fewer arrivals in the window; 0 = the rate alone says.
    pub least_arrivals: u64,
    /// The least time from a transition to a promotion.
    pub hold_up: Duration,
    /// The least time from a transition to a demotion.
    pub hold_down: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            window: Duration::from_secs(300),
            promote_rps: 0.2,
            demote_rps: 0.05,
            hold: Duration::ZERO,
            least_arrivals: 0,
            hold_up: Duration::ZERO,
            hold_down: Duration::ZERO,
        }
    }
}

impl Thresholds {
    /// Arrivals in a window from which a pod serves.
    pub fn promote_count(&self) -> f64 {
        (self.promote_rps * self.window.as_secs_f64()).max(self.least_arrivals as f64)
    }

    /// Arrivals in a window below which it stops serving.
    pub fn demote_count(&self) -> f64 {
        self.demote_rps * self.window.as_secs_f64()
    }
}

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

    fn has_pod(&self) -> bool {
        matches!(self.pod, PodState::Warm | PodState::Booting)
    }
}

/// Why a tier was chosen, refused or kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person named it.
    Forced,
    /// The user pinned an instance of their own.
    Dedicated,
    /// It fits on this machine.
    LocalFits,
    /// There is no serverless tier.
    NoServerless,
    /// A warm pod stays while the rate is not below `demote_rps`.
    PodWarm,
    /// The rate is at `promote_rps` or above.
    Promote,
    /// The rate is below `promote_rps`.
    BelowPromote,
    /// The rate is at `promote_rps` or above, but there is no pod tier.
    NoPod,
    /// The pod boots; serverless serves meanwhile.
    PodBooting,
    /// Nothing could be started there.
    NoCapacity,
    /// A budget or a ceiling refuses the tier that it would be, or this one.
    Budget,
    /// Less than a window of data: no demotion.
    Unobserved,
    /// Work in hand: no demotion.
    Busy,
    /// The last transition is too recent.
    Hold,
}

impl Reason {
    /// The word used in headers, REST and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Forced => "forced",
            Reason::Dedicated => "dedicated",
            Reason::LocalFits => "local_fits",
            Reason::NoServerless => "no_serverless",
            Reason::PodWarm => "pod_warm",
            Reason::Promote => "promote",
            Reason::BelowPromote => "below_promote",
            Reason::NoPod => "no_pod",
            Reason::PodBooting => "pod_booting",
            Reason::NoCapacity => "no_capacity",
            Reason::Budget => "budget",
            Reason::Unobserved => "unobserved",
            Reason::Busy => "busy",
            Reason::Hold => "hold",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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
/// stopped for want of work: the rate asked for nothing.
pub fn transition(view: &View, decision: &Decision) -> Option<Transition> {
    let from = view.current.filter(|from| *from != decision.tier)?;
    let idled = from == Tier::Pod
        && view.pod == PodState::Absent
        && decision.reason == Reason::BelowPromote;
    (!idled).then_some(Transition {
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
    match refused_promotion(view) {
        Some(reason) => on_serverless(view, reason),
        None => on_pod(view, Reason::Promote),
    }
}

/// Why a pod that is there stays; `None` = it does not.
fn stays(view: &View) -> Option<Reason> {
    let below_demote = (view.count as f64) < view.thresholds.demote_count();
    if !below_demote || view.pod_pinned {
        // The promotion that started the pod is still its reason while it boots.
        let fresh = view.pod == PodState::Booting && promotes(view);
        return Some(if fresh {
            Reason::Promote
        } else {
            Reason::PodWarm
        });
    }
    if view.pod_in_flight > 0 {
        return Some(Reason::Busy);
    }
    if !view.observed {
        return Some(Reason::Unobserved);
    }
    held(view, view.thresholds.hold_down).then_some(Reason::Hold)
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
    (held(view, view.thresholds.hold_up) && view.current != Some(Tier::Pod)).then_some(Reason::Hold)
}

fn promotes(view: &View) -> bool {
    view.count as f64 >= view.thresholds.promote_count()
}

fn held(view: &View, at_least: Duration) -> bool {
    let hold = view.thresholds.hold.max(at_least);
    view.since_transition.is_some_and(|since| since < hold)
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
