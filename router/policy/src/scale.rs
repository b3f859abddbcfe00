//! How many instances each tier should have.

use std::time::Duration;

use crate::{Tier, TierMap};

/// What one tier of a deployment has and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TierLoad {
    /// Instances that are starting or ready.
    pub live: u32,
    /// Instances that are ready.
    pub ready: u32,
    /// Whether requests are in hand or waiting there.
    pub busy: bool,
    /// Whether a start was asked for and has not ended: a Flight, a wake, a demotion's make-before-break.
    pub requested: bool,
    /// Time since the last work ended or the last instance became ready, whichever is later.
    pub idle_for: Duration,
    /// How long it stays without work.
    pub idle_timeout: Duration,
    /// Never fewer than these.
    pub min: u32,
    /// Never more than these.
    pub max: u32,
    /// What budgets leave of them, pinned ones and those with work in hand
    /// included; `None` = all.
    pub afforded: Option<u32>,
}

/// What one tier should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Target {
    /// Instances.
    pub count: u32,
    /// Why it may be fewer than there are; `None` = it is not meant to be.
    pub fewer: Option<Fewer>,
}

/// Why a tier is to have fewer instances than it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fewer {
    /// They have had no work for their idle timeout.
    Idle,
    /// Another tier was decided on, and is ready.
    Demoted,
    /// A budget or a ceiling says so.
    Budget,
    /// A person put the deployment to sleep, or took it or the tier away.
    Stopped,
    /// The shared fleet has more workers than its queues ask for.
    Unneeded,
}

impl Fewer {
    /// The word used in events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fewer::Idle => "idle",
            Fewer::Demoted => "demoted",
            Fewer::Budget => "budget",
            Fewer::Stopped => "stopped",
            Fewer::Unneeded => "unneeded",
        }
    }
}

/// What each tier should have.
pub type Desired = TierMap<Target>;

/// How many instances each tier should have.
///
/// `loads` holds the tiers that the deployment has and that are ours to start,
/// `decided` the tier of the last decision, `members` how many instances its
/// pool needs. A tier that is no longer decided on keeps its instances until
/// the one decided on is ready: make before break. An endpoint of the
/// serverless tier costs nothing without work, so it stays.
pub fn scale(
    loads: &TierMap<Option<TierLoad>>,
    decided: Option<Tier>,
    stopped: bool,
    members: u32,
) -> Desired {
    let successor_ready = |tier: Tier| {
        decided.is_some_and(|d| {
            d != tier && (d == Tier::Dedicated || loads[d].is_some_and(|load| load.ready > 0))
        })
    };
    TierMap::from_fn(|tier| match loads[tier] {
        Some(load) if !stopped => {
            let target = wanted(tier, &load, decided, successor_ready(tier), members);
            target.within(load.afforded)
        }
        _ => Target::less(0, Fewer::Stopped),
    })
}

fn wanted(
    tier: Tier,
    load: &TierLoad,
    decided: Option<Tier>,
    successor_ready: bool,
    members: u32,
) -> Target {
    let full = Target::of(members.max(load.min).clamp(1, load.max.max(1)));
    if load.requested {
        return full;
    }
    if load.live == 0 {
        return Target::of(load.min);
    }
    if tier == Tier::Serverless {
        return full;
    }
    let decided_away = decided.is_some_and(|d| d != tier);
    if decided_away && successor_ready {
        return Target::less(load.min, Fewer::Demoted);
    }
    let starting = load.ready < load.live;
    let rests = !load.busy && !starting && load.idle_for >= load.idle_timeout;
    match rests {
        true => Target::less(load.min, Fewer::Idle),
        false => full,
    }
}

impl Target {
    /// Whether the last instances stop for want of work.
    pub fn is_idle_stop(&self) -> bool {
        self.count == 0 && self.fewer == Some(Fewer::Idle)
    }

    const fn of(count: u32) -> Self {
        Target { count, fewer: None }
    }

    const fn less(count: u32, why: Fewer) -> Self {
        Target {
            count,
            fewer: Some(why),
        }
    }

    /// No more than budgets afford; `None` = they afford it all.
    #[must_use]
    pub fn within(self, afforded: Option<u32>) -> Self {
        match afforded {
            Some(most) if most < self.count => Target::less(most, Fewer::Budget),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn ready() -> TierLoad {
        TierLoad {
            live: 1,
            ready: 1,
            idle_timeout: TIMEOUT,
            max: 1,
            ..TierLoad::default()
        }
    }

    fn pods(load: TierLoad, serverless: Option<TierLoad>, decided: Tier) -> u32 {
        let mut loads = TierMap::default();
        loads[Tier::Pod] = Some(load);
        loads[Tier::Serverless] = serverless;
        scale(&loads, Some(decided), false, 1)[Tier::Pod].count
    }

    #[test]
    fn fewer_has_a_reason() {
        let mut rests = ready();
        rests.idle_for = TIMEOUT;
        let why = |load, serverless, stopped| {
            let mut loads = TierMap::default();
            (loads[Tier::Pod], loads[Tier::Serverless]) = (Some(load), serverless);
            let decided = serverless.map_or(Tier::Pod, |_| Tier::Serverless);
            scale(&loads, Some(decided), stopped, 1)[Tier::Pod].fewer
        };
        assert_eq!(why(ready(), None, false), None);
        assert_eq!(why(rests, None, false), Some(Fewer::Idle));
        assert_eq!(why(rests, Some(ready()), false), Some(Fewer::Demoted));
        assert_eq!(why(ready(), None, true), Some(Fewer::Stopped));
        rests.afforded = Some(0);
        rests.busy = true;
        assert_eq!(why(rests, None, false), Some(Fewer::Budget));
    }

    #[test]
    fn an_idle_pod_stops_after_its_timeout() {
        let mut pod = ready();
        pod.idle_for = TIMEOUT - Duration::from_secs(1);
        assert_eq!(pods(pod, None, Tier::Pod), 1);
        pod.idle_for = TIMEOUT;
        assert_eq!(pods(pod, None, Tier::Pod), 0);
        pod.busy = true;
        assert_eq!(pods(pod, None, Tier::Pod), 1);
    }

    #[test]
    fn b26_a_start_slower_than_the_idle_timeout_is_not_idle() {
        let starting = TierLoad {
            ready: 0,
            idle_for: Duration::from_secs(180),
            ..ready()
        };
        assert_eq!(pods(starting, None, Tier::Pod), 1);
    }

    #[test]
    fn a_demoted_pod_stays_until_serverless_is_ready() {
        let cold = TierLoad {
            live: 1,
            max: 1,
            ..TierLoad::default()
        };
        assert_eq!(pods(ready(), Some(cold), Tier::Serverless), 1);
        assert_eq!(pods(ready(), Some(ready()), Tier::Serverless), 0);
    }

    #[test]
    fn a_demoted_pod_goes_when_idle_even_if_serverless_never_comes() {
        let mut pod = ready();
        pod.idle_for = TIMEOUT;
        assert_eq!(pods(pod, Some(TierLoad::default()), Tier::Serverless), 0);
    }

    #[test]
    fn min_instances_stay_and_are_started_unasked() {
        let pinned = TierLoad {
            min: 1,
            max: 2,
            idle_for: TIMEOUT,
            ..ready()
        };
        assert_eq!(pods(pinned, Some(ready()), Tier::Serverless), 1);
        let none_yet = TierLoad {
            live: 0,
            ready: 0,
            ..pinned
        };
        assert_eq!(pods(none_yet, None, Tier::Pod), 1);
    }

    #[test]
    fn an_endpoint_that_costs_nothing_stays() {
        let mut loads = TierMap::default();
        loads[Tier::Serverless] = Some(TierLoad {
            idle_for: Duration::from_secs(9_999),
            ..ready()
        });
        assert_eq!(
            scale(&loads, Some(Tier::Serverless), false, 1)[Tier::Serverless].count,
            1
        );
    }

    #[test]
    fn a_stopped_deployment_wants_nothing() {
        let mut loads = TierMap::default();
        loads[Tier::Pod] = Some(TierLoad {
            min: 1,
            busy: true,
            ..ready()
        });
        assert_eq!(scale(&loads, Some(Tier::Pod), true, 1)[Tier::Pod].count, 0);
    }

    #[test]
    fn a_budget_stops_what_is_pinned_busy_and_asked_for() {
        let pod = TierLoad {
            min: 1,
            max: 2,
            busy: true,
            requested: true,
            afforded: Some(0),
            ..ready()
        };
        assert_eq!(pods(pod, Some(ready()), Tier::Pod), 0);
        let more = TierLoad {
            min: 2,
            afforded: Some(1),
            ..pod
        };
        assert_eq!(pods(more, None, Tier::Pod), 1, "no other is started");
    }

    #[test]
    fn a_pool_gets_its_members_within_the_maximum() {
        let mut loads = TierMap::default();
        loads[Tier::Local] = Some(TierLoad {
            requested: true,
            max: 3,
            ..TierLoad::default()
        });
        assert_eq!(scale(&loads, None, false, 2)[Tier::Local].count, 2);
        assert_eq!(scale(&loads, None, false, 5)[Tier::Local].count, 3);
    }
}
