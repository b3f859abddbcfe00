//! A replay is a request like any other: it counts against its deployment's
//! concurrency, and a budget that forbids the deployment's work forbids it too.

use std::time::Duration;

use thermocline_policy::Tier;
use thermocline_table::{Entry, Permit};

use crate::control::ControlPlane;

/// What keeps a replay from being run now.
pub(super) enum Kept {
    /// Why a budget forbids it.
    Budget(String),
    /// Its turn did not come in time.
    Full,
}

impl ControlPlane {
    /// A place among the requests of `deployment`, waited for `within` so long; none where
    /// it is not known here any more.
    pub(super) async fn admit_replay(
        &self,
        deployment: &str,
        within: Duration,
    ) -> Result<Option<Permit>, Kept> {
        let Some(deployment) = self.deployment(deployment) else {
            return Ok(None);
        };
        if let Some(braked) = self.braked(&deployment, Tier::Serverless) {
            return Err(Kept::Budget(braked.detail));
        }
        let queued = match deployment.live.gate.enter(u32::MAX) {
            Entry::Entered(permit) => return Ok(Some(permit)),
            Entry::Full => return Err(Kept::Full),
            Entry::Queued(queued) => queued,
        };
        let by = self.clock.now() + within;
        let entered = self.clock.timeout_at(by, queued.wait()).await;
        entered.map(Some).map_err(|_| Kept::Full)
    }
}
