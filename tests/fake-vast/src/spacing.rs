//! Calls of a kind must be so far apart; one that comes too early is refused,
//! and held against the caller.

use std::collections::HashMap;
use std::time::Duration;

use thermocline_policy::Moment;

/// What a call counts as, and how far two of them must be apart, seconds.
pub(crate) type Lane = (&'static str, f64);

/// So many spacings pass before a caller that was too early is heard again.
const PENALTY: f64 = 2.0;

/// When each kind of call may be made again.
#[derive(Debug, Default)]
pub(crate) struct Spacing(HashMap<&'static str, Moment>);

impl Spacing {
    /// Counts a call at `now`; false when it comes too early.
    pub(crate) fn admit(&mut self, (name, seconds): Lane, now: Moment) -> bool {
        let again = |seconds| now + Duration::from_secs_f64(seconds);
        let early = self.0.get(name).is_some_and(|next| *next > now);
        let pause = if early { seconds * PENALTY } else { seconds };
        self.0.insert(name, again(pause));
        !early
    }
}

/// The kind of the call `method path`.
pub(crate) fn lane(method: &str, path: &[String]) -> Lane {
    let at = |i: usize| path.get(i).map_or("", String::as_str);
    match (method, at(2)) {
        ("POST", "bundles") => ("search", 2.0),
        ("PUT", "asks") => ("create", 4.5),
        ("DELETE", _) => ("destroy", 3.0),
        _ if path.len() == 3 => ("list", 1.0),
        _ => ("show", 2.0),
    }
}
