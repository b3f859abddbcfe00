use std::time::Duration;

use crate::Topic;

/// What everything of one installation is called on a broker that it may share.
#[derive(Debug, Clone)]
pub(super) struct Names {
    prefix: String,
}

/// How long delayed messages wait, in the order of the delay queues. A delay is
/// rounded up to one of these, so that there is no queue per message.
const DELAYS_MS: [u64; 12] = [
    250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 120_000, 300_000, 900_000,
];

impl Names {
    pub(super) fn of(owner: &str) -> Self {
        Names {
            prefix: format!("tc.{owner}."),
        }
    }

    pub(super) fn queue(&self, deployment: &str) -> String {
        format!("{}q.{deployment}", self.prefix)
    }

    /// The deployment whose queue has this name.
    pub(super) fn deployment<'n>(&self, queue: &'n str) -> Option<&'n str> {
        queue.strip_prefix(self.prefix.as_str())?.strip_prefix("q.")
    }

    pub(super) fn dead(&self) -> String {
        format!("{}dead", self.prefix)
    }

    /// The lock of whoever mends `queue`.
    pub(super) fn mending(&self, queue: &str) -> String {
        format!("{}mending.{queue}", self.prefix)
    }

    pub(super) fn topic(&self, topic: Topic) -> String {
        let name = match topic {
            Topic::Demand => "demand",
            Topic::Report => "report",
        };
        format!("{}{name}", self.prefix)
    }

    /// Every delay: the exchange and queue of this name.
    pub(super) fn delays(&self) -> impl Iterator<Item = String> + '_ {
        DELAYS_MS.into_iter().map(|ms| self.delay(ms))
    }

    /// How long a message waits in `queue`, in milliseconds; `None` where it is no delay.
    pub(super) fn waits_ms(&self, queue: &str) -> Option<u64> {
        DELAYS_MS.into_iter().find(|ms| self.delay(*ms) == queue)
    }

    /// The queues that every installation has, whatever is deployed.
    pub(super) fn standing(&self) -> impl Iterator<Item = String> + '_ {
        std::iter::once(self.dead()).chain(self.delays())
    }

    /// Where a message waits for `delay` at least, unless it is over the longest.
    pub(super) fn delay_of(&self, delay: Duration) -> String {
        let fits = |ms: &u64| Duration::from_millis(*ms) >= delay;
        let longest = DELAYS_MS[DELAYS_MS.len() - 1];
        self.delay(DELAYS_MS.into_iter().find(fits).unwrap_or(longest))
    }

    fn delay(&self, ms: u64) -> String {
        format!("{}delay.{ms}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_never_shortened() {
        let names = Names::of("me");
        let of = |ms| names.delay_of(Duration::from_millis(ms));
        assert_eq!(of(1), "tc.me.delay.250");
        assert_eq!(of(1_000), "tc.me.delay.1000");
        assert_eq!(of(1_001), "tc.me.delay.2000");
        assert_eq!(of(86_400_000), "tc.me.delay.900000");
        assert_eq!(names.waits_ms(&of(1_001)), Some(2_000));
        assert_eq!(names.waits_ms(&names.dead()), None);
        assert_eq!(names.standing().count(), 1 + DELAYS_MS.len());
    }

    #[test]
    fn a_queue_is_known_by_its_installation() {
        let names = Names::of("me");
        assert_eq!(names.deployment(&names.queue("sdxl")), Some("sdxl"));
        assert_eq!(names.deployment(&Names::of("you").queue("sdxl")), None);
        assert_eq!(names.deployment(&names.dead()), None);
    }
}
