//! How often a job is asked after.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Calls a second that all jobs of a translator share: half of what RunPod
/// allows an endpoint (2,000 in 10 s).
const SHARED: u32 = 100;
const LONGEST: Duration = Duration::from_secs(1);

/// The jobs that are being asked after.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace(Arc<AtomicU32>);

/// One of them; no longer when dropped.
pub(super) struct Asker(Pace);

impl Pace {
    pub(super) fn enter(&self) -> Asker {
        self.0.fetch_add(1, Ordering::Relaxed);
        Asker(self.clone())
    }
}

impl Asker {
    /// The pause before the next look at a job that has gone on for `elapsed`:
    /// a fiftieth of that, so that waiting adds 2 % at most.
    pub(super) fn pause(&self, elapsed: Duration) -> Duration {
        (elapsed / 50).clamp(self.shortest(), LONGEST)
    }

    /// The least pause after so many answers in a row that said nothing.
    pub(super) fn after_silence(silences: u32) -> Duration {
        (Duration::from_millis(50) * silences).min(LONGEST)
    }

    /// The pause between two looks at a stream that flows.
    pub(super) fn shortest(&self) -> Duration {
        let askers = self.0.0.load(Ordering::Relaxed).max(1);
        (Duration::from_secs(1) * askers / SHARED).min(LONGEST)
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_the_wait_and_with_the_crowd() {
        let pace = Pace::default();
        let one = pace.enter();
        let seconds = Duration::from_secs;
        assert_eq!(one.pause(seconds(0)), Duration::from_millis(10));
        assert_eq!(one.pause(seconds(5)), Duration::from_millis(100));
        assert_eq!(one.pause(seconds(600)), LONGEST);
        let _others: Vec<Asker> = (0..9).map(|_| pace.enter()).collect();
        assert_eq!(one.shortest(), Duration::from_millis(100));
    }
}
