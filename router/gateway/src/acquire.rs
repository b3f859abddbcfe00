//! From a decision to a place on a backend: a ready one, a Flight's, or the
//! tier that serves meanwhile.

use thermocline_policy::{Observation, Reason, Tier, TierSet, instead};
use thermocline_table::{
    BackendId, BackendPermit, Entry, GIVEN_UP, Permit, Pick, Queued, Start, StartFailed,
};

use std::sync::Arc;
use std::time::Duration;

use crate::call::{Call, Stamp};
use crate::flights::Refused;
use crate::gateway::Gateway;
use crate::inbound::Inbound;
use crate::refusal::{Refusal, refuse, start_failed};

/// A tier whose backends take work, and how it was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) tier: Tier,
    pub(crate) start: Start,
    pub(crate) reason: Reason,
}

/// A place on a backend, and the turn that the request had for it.
pub(crate) struct Place {
    pub(crate) turn: Permit,
    pub(crate) backend: BackendPermit,
}

/// Decisions per request: a start that fails may leave another tier to try.
pub(crate) const MOST_DECISIONS: usize = 4;

impl Gateway {
    /// Decides and waits until a tier serves. Where one cannot be started, the next is
    /// waited for: refused is only what nothing comes up for and nothing may be begun for.
    pub(crate) async fn find_tier(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: &mut Inbound,
        mut seen: Option<Observation>,
        stamp: &mut Stamp,
    ) -> Result<Served, Refusal> {
        let mut failed = None;
        let mut lost = TierSet::EMPTY;
        let mut start = None;
        for _ in 0..MOST_DECISIONS {
            let Some(served) = self.decide_without(call, seen.take(), lost) else {
                break;
            };
            stamp.tier = Some(served.tier);
            stamp.reason = Some(served.reason);
            if !call.counted && !call.deployment.is_warm(served.tier, self.clock.now()) {
                return Err(asleep());
            }
            if call.deployment.capacity.load().serves(served.tier) {
                let start = start.unwrap_or(served.start);
                return Ok(Served { start, ..served });
            }
            // Boxed: a warm request should not carry the room for a cold one.
            match Box::pin(self.wait_for(call, served.tier, body, stamp)).await? {
                Ok(how) => start = Some(how),
                // It was given up by those before: this one wishes for it anew.
                Err(error) if error.code == GIVEN_UP => {}
                Err(error) => (lost, failed) = (lost.with(served.tier), Some(error)),
            }
        }
        Err(failed.map_or_else(
            || {
                refuse(503, "no_capacity", "no backend stays up; try again later")
                    .retry_after(Duration::from_secs(1))
            },
            |error| start_failed(&error),
        ))
    }

    /// The tier to serve from now, where none of `lost` could be started; `None` = there
    /// is nothing else.
    fn decide_without(
        self: &Arc<Self>,
        call: &Call<'_>,
        seen: Option<Observation>,
        lost: TierSet,
    ) -> Option<Served> {
        let served = self.decide(call, seen);
        if !lost.has(served.tier) || call.deployment.capacity.load().serves(served.tier) {
            return Some(served);
        }
        let view = call.deployment.view(self.clock.now());
        Some(Served {
            tier: instead(&view, lost)?,
            start: Start::Fallback,
            reason: Reason::NoCapacity,
        })
    }

    /// The tier to serve from now; begins what else the decision asks for.
    /// A request that has just been recorded has `seen` its window already.
    fn decide(self: &Arc<Self>, call: &Call<'_>, seen: Option<Observation>) -> Served {
        let now = match seen {
            Some(_) => call.arrived,
            None => self.clock.now(),
        };
        let decision = match seen {
            Some(seen) => call.deployment.decide_on(seen, now),
            None => call.deployment.decide(now),
        };
        if call.counted
            && let Some(transition) = call.deployment.commit(&decision, now)
        {
            self.wake.transitioned(call.deployment, transition, now);
        }
        let wanted = Served {
            tier: decision.tier,
            start: Start::Warm,
            reason: decision.reason,
        };
        let capacity = call.deployment.capacity.load();
        let forced = call.config.forced.is_some_and(|(_, until)| now < until);
        if capacity.serves(decision.tier) || forced {
            return wanted;
        }
        let meanwhile = decision.meanwhile.or_else(|| {
            // Make before break: what still takes work serves until the tier is up.
            let other = Tier::ALL.into_iter().find(|tier| capacity.serves(*tier));
            other.map(|tier| (tier, decision.reason))
        });
        let Some((tier, reason)) = meanwhile else {
            return wanted;
        };
        if call.counted {
            // Nobody waits for it here, so nobody is counted against its bound.
            if let Ok(waiter) = self.join(call, decision.tier, u32::MAX) {
                waiter.leave_standing();
            }
        }
        Served {
            tier,
            start: Start::Fallback,
            reason,
        }
    }

    /// Waits for `tier`'s start within the request's patience.
    async fn wait_for(
        self: &Arc<Self>,
        call: &Call<'_>,
        tier: Tier,
        body: &mut Inbound,
        stamp: &mut Stamp,
    ) -> Result<Result<Start, StartFailed>, Refusal> {
        let waiter = match self.join(call, tier, call.config.settings.max_pending) {
            Ok(waiter) => waiter,
            Err(Refused::Full) => return Err(full()),
            Err(Refused::BackingOff(error)) => return Ok(Err(error)),
        };
        let how = if waiter.first {
            Start::Cold
        } else {
            Start::Joined
        };
        stamp.start = Some(how);
        let _waiting = call.deployment.wait();
        let until = call.patience.cold;
        let landed = tokio::select! {
            biased;
            landed = waiter.landed() => landed,
            error = body.read_ahead(), if !call.checked.expects => return Err(Refusal::broken_body(error)),
            () = self.clock.sleep_until(until) => {
                return Err(match until == call.patience.whole {
                    true => late(),
                    false => refuse(503, "cold_start_timeout", "the start takes longer than this request may wait")
                        .retry_after(Duration::from_secs(10)),
                });
            }
        };
        Ok(landed.map(|()| how))
    }

    fn join(
        self: &Arc<Self>,
        call: &Call<'_>,
        tier: Tier,
        most: u32,
    ) -> Result<crate::flights::Waiter, Refused> {
        let key = (call.deployment.name.clone(), call.config.generation, tier);
        let (wake, deployment) = (self.wake.clone(), call.deployment.clone());
        let clock = self.clock.clone();
        self.flights.join(key, most, |wish| async move {
            let began = clock.now();
            let outcome = wake.wake(&deployment, tier, &wish).await;
            if !matches!(&outcome, Err(error) if error.code == GIVEN_UP) {
                let took = clock.now().since(began);
                deployment.tally.started(tier, outcome.is_ok(), took);
            }
            outcome
        })
    }

    /// A place within the deployment's concurrency. Who was let in while it was
    /// cold waits in turn, however long the queue.
    pub(crate) async fn enter(
        &self,
        call: &Call<'_>,
        body: &mut Inbound,
        let_in: bool,
    ) -> Result<Permit, Refusal> {
        let queue = if let_in {
            u32::MAX
        } else {
            call.config.spec.concurrency.queue
        };
        let queued = match call.deployment.gate.enter(queue) {
            Entry::Entered(permit) => return Ok(permit),
            Entry::Full => return Err(full()),
            Entry::Queued(queued) => queued,
        };
        Box::pin(self.queue(call, body, queued)).await
    }

    async fn queue(
        &self,
        call: &Call<'_>,
        body: &mut Inbound,
        queued: Queued,
    ) -> Result<Permit, Refusal> {
        let _waiting = call.deployment.wait();
        tokio::select! {
            biased;
            permit = queued.wait() => Ok(permit),
            error = body.read_ahead(), if !call.checked.expects => Err(Refusal::broken_body(error)),
            () = self.clock.sleep_until(call.patience.whole) => Err(late()),
        }
    }

    /// A place on a backend of `tier` that was not `tried`; waits where all are
    /// at their limits. `None` = there is none.
    pub(crate) async fn pick(
        &self,
        call: &Call<'_>,
        body: &mut Inbound,
        tier: Tier,
        tried: &[BackendId],
    ) -> Result<Option<BackendPermit>, Refusal> {
        match pick_now(call, tier, tried) {
            Pick::Place(permit) => Ok(Some(permit)),
            Pick::Empty => Ok(None),
            Pick::Full => Box::pin(self.pick_later(call, body, tier, tried)).await,
        }
    }

    async fn pick_later(
        &self,
        call: &Call<'_>,
        body: &mut Inbound,
        tier: Tier,
        tried: &[BackendId],
    ) -> Result<Option<BackendPermit>, Refusal> {
        loop {
            let changed = call.deployment.changed.notified();
            match pick_now(call, tier, tried) {
                Pick::Place(permit) => return Ok(Some(permit)),
                Pick::Empty => return Ok(None),
                Pick::Full => {}
            }
            tokio::select! {
                () = changed => {}
                error = body.read_ahead(), if !call.checked.expects => return Err(Refusal::broken_body(error)),
                () = self.clock.sleep_until(call.patience.whole) => return Err(late()),
            }
        }
    }
}

fn pick_now(call: &Call<'_>, tier: Tier, tried: &[BackendId]) -> Pick {
    let deployment = &call.deployment;
    let selection = call.config.spec.concurrency.selection;
    let now = || deployment.clock().now();
    deployment.capacity.load().pools[tier].pick(deployment, selection, tried, now)
}

pub(crate) fn late() -> Refusal {
    refuse(504, "deadline", "the deadline passed")
}

/// The backend went away while a place on it was being had.
pub(crate) fn just_gone() -> Refusal {
    refuse(503, "no_capacity", "the backend has just gone").retry_after(Duration::from_secs(1))
}

fn full() -> Refusal {
    refuse(429, "full", "as many requests run and wait as may").retry_after(Duration::from_secs(1))
}

fn asleep() -> Refusal {
    refuse(503, "asleep", "at zero, and this path does not wake it")
        .retry_after(Duration::from_secs(30))
}
