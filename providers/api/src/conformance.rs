//! The clauses that every adapter must pass, whatever is behind it.
//!
//! [`run`] makes up to five instances under an owner of its own, looks at
//! them in every way that the control plane will, and deletes them again,
//! also when a clause failed. Dropping its future early leaves what was made.

mod check;
mod create;
mod delete;
mod lifetimes;
mod probe;
mod read;
mod ready;
mod report;
mod session;
#[cfg(test)]
mod tests;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use crate::{InstanceRequest, Provider};

pub use probe::{PlainHttp, Probe};
pub use report::{Clause, Outcome, Report, Verdict};
use session::Session;
use trial::Trial;

/// What to ask an adapter for, and how long to wait for it.
#[derive(Clone)]
pub struct Setup {
    /// What to start; the owner is replaced by the run's own.
    pub request: InstanceRequest,
    /// How many creates race for one key.
    pub racers: usize,
    /// How long a new instance may stay invisible to get and list.
    pub visible_within: Duration,
    /// How long an instance may take to become ready.
    pub ready_within: Duration,
    /// How long a deleted instance may still be seen.
    pub gone_within: Duration,
    /// The lifetime of what is to end by itself, whole seconds.
    pub lifetime: Duration,
    /// How long between two looks.
    pub poll_every: Duration,
    /// How a ready address is tried; `None` leaves that out.
    pub probe: Option<Arc<dyn Probe>>,
    /// How long the whole trial may take, but for half a minute of cleaning up;
    /// `None` = as long as it takes.
    pub limit: Option<Duration>,
}

impl Setup {
    /// A setup for `request` that suits a cloud: 30 s to be seen, 10 min to
    /// become ready, 2 min to go, a lifetime of 20 s, plain HTTP at the address, no limit.
    pub fn new(request: InstanceRequest) -> Self {
        Setup {
            request,
            racers: 10,
            visible_within: Duration::from_secs(30),
            ready_within: Duration::from_secs(600),
            gone_within: Duration::from_secs(120),
            lifetime: Duration::from_secs(20),
            poll_every: Duration::from_secs(1),
            probe: Some(Arc::new(PlainHttp)),
            limit: None,
        }
    }
}

/// Checks every clause against `provider` and cleans up.
pub async fn run(provider: &dyn Provider, setup: &Setup) -> Report {
    run_telling(provider, setup, |_| {}).await
}

/// The same, and tells each verdict as it is known.
pub async fn run_telling(
    provider: &dyn Provider,
    setup: &Setup,
    told: impl FnMut(&Verdict),
) -> Report {
    let mut session = Session::new(provider, setup);
    let mut trial = Trial::new(setup.limit, told);
    trial.hold(read::CAPABILITIES, session.capabilities()).await;
    trial.hold(read::OFFERS, session.offers()).await;
    trial.hold(check::CHECK, session.check()).await;
    trial.hold(create::INVALID, session.invalid_request()).await;
    trial.hold(read::UNKNOWN, session.unknown_id()).await;
    let idempotent = session.create_idempotent();
    trial.hold(create::IDEMPOTENT, idempotent).await;
    trial.hold(read::GET, session.get_after_create()).await;
    trial.hold(read::OWN, session.list_own()).await;
    trial.hold(read::STRANGER, session.list_stranger()).await;
    trial.hold(create::RACE, session.create_concurrent()).await;
    trial.hold(create::LOST_REPLY, session.lost_reply()).await;
    trial.hold(read::PAGES, session.list_pages()).await;
    trial.hold(ready::READY, session.becomes_ready()).await;
    trial.hold(ready::ANSWERS, session.address_answers()).await;
    trial
        .hold(lifetimes::RENEWED, session.lifetime_renewed())
        .await;
    trial.hold(lifetimes::ENDS, session.lifetime_ends()).await;
    trial.hold(delete::TWICE, session.delete_twice()).await;
    trial.hold(delete::ABSENT, session.deleted_absent()).await;
    trial.leave_time_to_clean_up();
    trial.hold(delete::CLEANUP, session.cleanup()).await;
    let consistent = std::future::ready(session.consistent());
    trial.hold(ready::CONSISTENT, consistent).await;
    trial.report
}
