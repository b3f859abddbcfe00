//! Whether the process is wedged, and whether it may take new work.

use std::time::Duration;

use crate::control::{ControlPlane, TICK};

/// Ticks come every second; ten that do not come are no mere delay.
const WEDGED_AFTER: Duration = Duration::from_secs(10);
/// A tick that is missed makes new work wait, and is said.
const LATE_AFTER: Duration = TICK.saturating_mul(2);

impl ControlPlane {
    /// Why the process is wedged; `None` = it is not.
    pub(crate) fn wedged(&self) -> Option<String> {
        let age = self.tick_age();
        (age > WEDGED_AFTER && !self.drain.is_cancelled())
            .then(|| format!("the loops have not ticked for {} s", age.as_secs()))
    }

    /// Why no new work may be taken now; `None` = it may.
    pub(crate) async fn not_ready(&self) -> Option<String> {
        if self.drain.is_cancelled() {
            return Some("draining".to_owned());
        }
        if !self.is_loaded() {
            return Some("still loading".to_owned());
        }
        let age = self.tick_age();
        if age >= LATE_AFTER {
            return Some(format!("the loops have not ticked for {} s", age.as_secs()));
        }
        let store = self.store.ping().await;
        store
            .err()
            .map(|_| "the store cannot be reached".to_owned())
    }
}
