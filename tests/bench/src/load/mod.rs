//! The client: a fixed number of connections, each asking again when it has its answer.

mod chunked;
mod connection;
mod events;
mod fault;
mod framing;
mod lane;
mod receipt;
mod request;
mod tally;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::kind::Kind;
use crate::time;
use lane::{Lane, Plan};

pub(crate) use connection::Connection;
pub(crate) use fault::Fault;
pub(crate) use receipt::Receipt;
pub(crate) use request::Request;
pub use tally::Tally;

/// How long after a slot's end its last answers may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Some connections to one target, kept open from slot to slot.
#[derive(Debug)]
pub struct Load {
    plan: Arc<Plan>,
    lanes: Vec<Lane>,
    patience: Duration,
}

impl Load {
    /// Prepares `connections` of them; they are opened when first needed.
    /// `prefix` goes before every path: empty, or `/` and more without a final `/`.
    pub fn new(address: SocketAddr, prefix: &str, kind: Kind, connections: usize) -> Self {
        let plan = Arc::new(Plan::new(address, prefix, kind));
        let lanes = (0..connections)
            .map(|_| Lane::new(Arc::clone(&plan)))
            .collect();
        Load {
            plan,
            lanes,
            patience: PATIENCE,
        }
    }

    /// Changes how long after a slot's end the last answers may take (30 s).
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Loads the target for `length` and waits for the answers still due.
    /// Each connection makes at least one request: a slot of length zero is one each.
    pub async fn slot(&mut self, length: Duration) -> Tally {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let begin = time::now();
        let connections = self.lanes.len();
        let mut running = JoinSet::new();
        for lane in self.lanes.drain(..) {
            running.spawn(lane.run_until(begin + length, Arc::clone(&tally)));
        }
        let lanes = &mut self.lanes;
        let all = async {
            while let Some(Ok(lane)) = running.join_next().await {
                lanes.push(lane)
            }
        };
        let _ = timeout(length + self.patience, all).await;
        running.shutdown().await;
        let mut tally = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
        tally.elapsed_nanos = time::whole_nanos(begin.elapsed());
        self.replace_stuck(connections, &mut tally);
        tally
    }

    /// Connections that were given up count as one fault each.
    fn replace_stuck(&mut self, connections: usize, tally: &mut Tally) {
        while self.lanes.len() < connections {
            tally.fault(&Fault::TimedOut);
            self.lanes.push(Lane::new(Arc::clone(&self.plan)));
        }
    }
}
