//! A replay is a request like any other: it counts against its deployment's
//! concurrency, and a budget that forbids the deployment's work forbids it too.

use std::time::Duration;

use thermocline_policy::Tier;
use thermocline_table::{Entry, Permit};

use super::archive::PAUSE;
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
    /// it is not known here any more. It waits beside the queue, which is for clients.
    pub(super) async fn admit_replay(
        &self,
        deployment: &str,
        within: Duration,
    ) -> Result<Option<Permit>, Kept> {
        let Some(deployment) = self.deployment(deployment) else {
            return Ok(None);
        };
        let by = self.clock.now() + within;
        loop {
            if let Some(braked) = self.braked(&deployment, Tier::Serverless) {
                return Err(Kept::Budget(braked.detail));
            }
            if let Entry::Entered(permit) = deployment.live.gate.enter(0) {
                return Ok(Some(permit));
            }
            if self.clock.now() >= by {
                return Err(Kept::Full);
            }
            self.clock.sleep(PAUSE).await;
        }
    }
}
