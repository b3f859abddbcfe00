use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Moment;

use super::Cloud;

impl Cloud {
    /// When an instance ends whose lifetime of so many seconds begins now; 0 = never.
    pub(super) fn end_of(&self, max_lifetime_s: u64) -> Moment {
        match max_lifetime_s {
            0 => Moment::NEVER,
            seconds => self.clock.now() + Duration::from_secs(seconds),
        }
    }

    /// Begins the instance's lifetime anew. False when it is unknown.
    pub(crate) fn renew(&self, id: &str, max_lifetime_s: u64) -> bool {
        let ends_at = self.end_of(max_lifetime_s);
        let mut state = self.lock();
        let entry = state.instances.get_mut(id);
        entry.map(|entry| entry.ends_at = ends_at).is_some()
    }

    /// Ends the instance when its lifetime is over, which renewals put off.
    pub(super) async fn end_when_due(self: Arc<Self>, id: String) {
        while let Some((ends_at, gone)) = self.due(&id) {
            if ends_at <= self.clock.now() {
                self.forget(&id);
                return;
            }
            // An end that is brought forward is seen at the old one only.
            gone.run_until_cancelled(self.clock.sleep_until(ends_at))
                .await;
        }
    }

    fn due(&self, id: &str) -> Option<(Moment, tokio_util::sync::CancellationToken)> {
        let state = self.lock();
        let entry = state.instances.get(id)?;
        let lives = !entry.life.is_cancelled();
        lives.then(|| (entry.ends_at, entry.life.clone()))
    }
}
