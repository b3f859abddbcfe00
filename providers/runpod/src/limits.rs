//! The account's rate limits, as its answers tell them.

use std::time::Duration;

use thermocline_policy::Moment;

/// The longest wait before a call that can wait.
const LONGEST_PACE: Duration = Duration::from_secs(5);
/// The longest delay that is believed.
const LONGEST_DELAY: Duration = Duration::from_secs(3_600);

/// One window as the last answer told it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Window {
    name: String,
    left: u32,
    resets: Moment,
    /// Calls in a whole window, once known.
    quota: Option<u32>,
}

/// What is left in every window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits(Vec<Window>);

/// When a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// After so long.
    After(Duration),
    /// Not before a window resets.
    Refused(Duration),
}

impl Limits {
    /// Reads `RateLimit` and `RateLimit-Policy` of an answer that came at `now`.
    pub(crate) fn learn(&mut self, limit: &str, policy: &str, now: Moment) {
        let quotas: Vec<(String, u32)> = items(policy)
            .filter_map(|(name, parameters)| Some((name, parameter(parameters, "q")?)))
            .collect();
        let windows = items(limit).filter_map(|(name, parameters)| {
            let seconds = u64::from(parameter(parameters, "t")?);
            Some(Window {
                left: parameter(parameters, "r")?,
                resets: now + Duration::from_secs(seconds).min(LONGEST_DELAY * 24),
                quota: quotas.iter().find(|(of, _)| *of == name).map(|(_, q)| *q),
                name,
            })
        });
        let windows: Vec<Window> = windows.collect();
        if !windows.is_empty() {
            self.0 = windows;
        }
    }

    /// Whether a call may be made at `now`; one that makes or deletes goes
    /// first, and the others are spread over what is left of a window.
    pub(crate) fn admit(&self, urgent: bool, now: Moment) -> Admission {
        let mut wait = Duration::ZERO;
        for window in self.0.iter().filter(|window| window.resets > now) {
            let rest = now.until(window.resets);
            if window.left == 0 {
                return Admission::Refused(rest.min(LONGEST_DELAY));
            }
            let scarce = window.quota.is_some_and(|quota| window.left < quota / 5);
            if scarce && !urgent {
                wait = wait.max((rest / window.left).min(LONGEST_PACE));
            }
        }
        Admission::After(wait)
    }

    /// How long a refused call has to wait, when the answer named no time itself.
    pub(crate) fn longest_exhausted(&self, now: Moment) -> Option<Duration> {
        let used_up = self
            .0
            .iter()
            .filter(|window| window.left == 0 && window.resets > now);
        used_up
            .map(|window| now.until(window.resets).min(LONGEST_DELAY))
            .max()
    }
}

/// The items of a list as `"minute";r=0;t=12, "hour";r=2800;t=1812`.
fn items(list: &str) -> impl Iterator<Item = (String, &str)> {
    list.split(',').filter_map(|item| {
        let (name, parameters) = item.trim().split_once(';')?;
        Some((name.trim_matches('"').to_owned(), parameters))
    })
}

fn parameter(parameters: &str, name: &str) -> Option<u32> {
    let mut pairs = parameters
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "\"minute\";q=60;w=60, \"hour\";q=3000;w=3600";

    fn admitted(limit: &str, urgent: bool, later: u64) -> Admission {
        let mut limits = Limits::default();
        limits.learn(limit, POLICY, Moment::ORIGIN);
        limits.admit(urgent, Moment::ORIGIN + Duration::from_secs(later))
    }

    #[test]
    fn what_is_used_up_is_waited_for_and_no_longer() {
        let limit = "\"minute\";r=0;t=12, \"hour\";r=2800;t=1812";
        assert_eq!(
            admitted(limit, true, 2),
            Admission::Refused(Duration::from_secs(10))
        );
        assert_eq!(admitted(limit, true, 12), Admission::After(Duration::ZERO));
    }

    #[test]
    fn what_is_scarce_is_kept_for_what_makes_and_deletes() {
        let limit = "\"minute\";r=10;t=20, \"hour\";r=2800;t=1812";
        assert_eq!(
            admitted(limit, false, 0),
            Admission::After(Duration::from_secs(2))
        );
        assert_eq!(admitted(limit, true, 0), Admission::After(Duration::ZERO));
        assert_eq!(
            admitted("\"minute\";r=50;t=20", false, 0),
            Admission::After(Duration::ZERO)
        );
    }

    #[test]
    fn odd_headers_change_nothing() {
        let mut limits = Limits::default();
        for odd in [
            "",
            "minute",
            "\"minute\";r=x;t=1",
            ";;;=,,",
            "\"minute\";r=1",
        ] {
            limits.learn(odd, odd, Moment::ORIGIN);
            assert_eq!(
                limits.admit(false, Moment::ORIGIN),
                Admission::After(Duration::ZERO)
            );
        }
    }
}
