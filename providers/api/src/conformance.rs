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

use std::sync::Arc;
use std::time::Duration;

use crate::{InstanceRequest, Provider};

pub use probe::{PlainHttp, Probe};
pub use report::{Clause, Outcome, Report, Verdict};
use session::Session;

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
}

impl Setup {
    /// A setup for `request` that suits a cloud: 30 s to be seen, 10 min to
    /// become ready, 2 min to go, a lifetime of 20 s, plain HTTP at the address.
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
        }
    }
}

/// Checks every clause against `provider` and cleans up.
pub async fn run(provider: &dyn Provider, setup: &Setup) -> Report {
    let mut session = Session::new(provider, setup);
    let mut report = Report::default();
    report.add(read::CAPABILITIES, session.capabilities().await);
    report.add(read::OFFERS, session.offers().await);
    report.add(check::CHECK, session.check().await);
    report.add(create::INVALID, session.invalid_request().await);
    report.add(read::UNKNOWN, session.unknown_id().await);
    report.add(create::IDEMPOTENT, session.create_idempotent().await);
    report.add(read::GET, session.get_after_create().await);
    report.add(read::OWN, session.list_own().await);
    report.add(read::STRANGER, session.list_stranger().await);
    report.add(create::RACE, session.create_concurrent().await);
    report.add(create::LOST_REPLY, session.lost_reply().await);
    report.add(read::PAGES, session.list_pages().await);
    report.add(ready::READY, session.becomes_ready().await);
    report.add(ready::ANSWERS, session.address_answers().await);
    report.add(lifetimes::RENEWED, session.lifetime_renewed().await);
    report.add(lifetimes::ENDS, session.lifetime_ends().await);
    report.add(delete::TWICE, session.delete_twice().await);
    report.add(delete::ABSENT, session.deleted_absent().await);
    report.add(delete::CLEANUP, session.cleanup().await);
    report.add(ready::CONSISTENT, session.consistent());
    report
}
