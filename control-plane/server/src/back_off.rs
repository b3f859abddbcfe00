//! Failed starts, and when the next attempt is worth it.

use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_table::StartFailed;

const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(300);

/// The starts of one tier that failed since the last that did not.
#[derive(Debug, Clone)]
pub(crate) struct BackOff {
    pub(crate) error: StartFailed,
    pub(crate) until: Moment,
    failures: u32,
}

impl BackOff {
    /// One more failure after those of `before`.
    pub(crate) fn after(before: Option<&BackOff>, error: StartFailed, now: Moment) -> Self {
        let earlier = before.map_or(0, |b| b.failures);
        let delay = FIRST * 2u32.saturating_pow(earlier.min(16));
        BackOff {
            until: now + delay.min(LONGEST).max(error.retry_after),
            error,
            failures: earlier + 1,
        }
    }

    /// Its error, with the time that is left.
    pub(crate) fn refusal(&self, now: Moment) -> StartFailed {
        StartFailed {
            retry_after: now.until(self.until),
            ..self.error.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b38_at_most_ten_attempts_in_ten_minutes() {
        let error = StartFailed {
            code: "no_capacity",
            detail: String::new(),
            retry_after: Duration::ZERO,
        };
        let mut now = Moment::ORIGIN;
        let (mut attempts, mut back_off) = (0, None);
        while now < Moment::from_origin(Duration::from_secs(600)) {
            attempts += 1;
            let next = BackOff::after(back_off.as_ref(), error.clone(), now);
            now = next.until;
            back_off = Some(next);
        }
        assert!(attempts <= 10, "{attempts}");
    }
}
