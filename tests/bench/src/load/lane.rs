//! One connection's loop: ask, read the answer, ask again.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::fault::Fault;
use super::receipt::Receipt;
use super::request::Request;
use super::tally::Tally;
use crate::kind::Kind;
use crate::time;

/// So that a target that refuses everything does not keep a core busy.
const AFTER_FAULT: Duration = Duration::from_millis(10);

/// What every lane of a load asks for.
#[derive(Debug)]
pub(crate) struct Plan {
    address: SocketAddr,
    kind: Kind,
    request: Request,
}

impl Plan {
    pub(crate) fn new(address: SocketAddr, prefix: &str, kind: Kind) -> Self {
        Plan {
            address,
            kind,
            request: Request::of_kind(kind, address, prefix),
        }
    }
}

/// A connection, if open, and what to ask on it.
#[derive(Debug)]
pub(crate) struct Lane {
    plan: Arc<Plan>,
    connection: Option<Connection>,
}

impl Lane {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        Lane {
            plan,
            connection: None,
        }
    }

    /// Asks at least once and until `end`.
    pub(crate) async fn run_until(mut self, end: Instant, tally: Arc<Mutex<Tally>>) -> Self {
        self.connection = self.connection.filter(Connection::is_quiet);
        loop {
            let outcome = self.ask().await;
            record(&tally, &outcome);
            if time::now() >= end {
                return self;
            }
            if outcome.is_err() {
                time::pause(AFTER_FAULT).await;
            }
        }
    }

    /// One request; its connection is kept only after a good answer.
    async fn ask(&mut self) -> Result<(Duration, Receipt), Fault> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.plan.address).await?,
        };
        let mut receipt = Receipt::new(self.plan.kind);
        let begin = time::now();
        let head = connection
            .exchange(&self.plan.request, &mut receipt)
            .await?;
        let latency = begin.elapsed();
        if head.status != 200 {
            return Err(Fault::Status(head.status));
        }
        receipt.check(self.plan.kind)?;
        self.connection = head.keep_alive.then_some(connection);
        Ok((latency, receipt))
    }
}

fn record(tally: &Mutex<Tally>, outcome: &Result<(Duration, Receipt), Fault>) {
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    match outcome {
        Ok((latency, receipt)) => tally.answer(*latency, receipt.lateness()),
        Err(fault) => tally.fault(fault),
    }
}
