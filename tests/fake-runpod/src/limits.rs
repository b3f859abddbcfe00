//! Calls within a minute, an hour and a day, and the headers that tell of them.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use thermocline_policy::Moment;

const WINDOWS: [(&str, u64); 3] = [("minute", 60), ("hour", 3_600), ("day", 86_400)];

/// What is left in each window.
#[derive(Debug)]
pub(crate) struct Limits {
    quota: [u32; 3],
    used: [u32; 3],
    began: [Moment; 3],
}

impl Limits {
    pub(crate) fn new(quota: [u32; 3]) -> Self {
        Limits {
            quota,
            used: [0; 3],
            began: [Moment::ORIGIN; 3],
        }
    }

    /// Counts a call at `now`; when it is too many, the window and how long it still lasts.
    pub(crate) fn count(&mut self, now: Moment) -> Result<(), (&'static str, Duration)> {
        for (i, (name, seconds)) in WINDOWS.into_iter().enumerate() {
            let window = Duration::from_secs(seconds);
            if now.since(self.began[i]) >= window {
                (self.began[i], self.used[i]) = (now, 0);
            }
            if self.used[i] >= self.quota[i] {
                return Err((name, window.saturating_sub(now.since(self.began[i]))));
            }
        }
        self.used.iter_mut().for_each(|used| *used += 1);
        Ok(())
    }

    /// Writes what is left at `now`.
    pub(crate) fn tell(&self, now: Moment, headers: &mut HeaderMap) {
        let (mut limit, mut policy) = (Vec::new(), Vec::new());
        for (i, (name, seconds)) in WINDOWS.into_iter().enumerate() {
            let left = self.quota[i].saturating_sub(self.used[i]);
            let ends = seconds.saturating_sub(now.since(self.began[i]).as_secs());
            limit.push(format!("\"{name}\";r={left};t={ends}"));
            policy.push(format!("\"{name}\";q={};w={seconds}", self.quota[i]));
        }
        for (name, parts) in [("ratelimit", limit), ("ratelimit-policy", policy)] {
            if let Ok(value) = HeaderValue::from_str(&parts.join(", ")) {
                headers.insert(name, value);
            }
        }
    }
}
