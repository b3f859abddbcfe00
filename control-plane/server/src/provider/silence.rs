use std::time::Duration;

use thermocline_policy::Moment;

/// Calls without an answer, in a row, that are no chance.
const CALLS: u32 = 2;
/// A shorter silence is bridged by asking again.
const BLIP: Duration = Duration::from_secs(5);

/// The calls of a provider since it answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When the first of them began.
    pub(crate) since: Moment,
    calls: u32,
}

impl Silence {
    /// One more call, begun at `began`, after those of `before`.
    pub(super) fn after(before: Option<Silence>, began: Moment) -> Self {
        Silence {
            since: before.map_or(began, |before| before.since.min(began)),
            calls: before.map_or(0, |before| before.calls) + 1,
        }
    }

    /// Whether it is known at `now` that nobody answers there.
    pub(super) fn is_known(&self, now: Moment) -> bool {
        self.calls >= CALLS && now.since(self.since) >= BLIP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn one_lost_call_or_a_moment_of_them_is_a_blip() {
        let one = Silence::after(None, at(10));
        assert!(!one.is_known(at(60)), "it may answer the next");
        let two = Silence::after(Some(one), at(11));
        assert!(!two.is_known(at(12)));
        assert!(two.is_known(at(15)));
        assert_eq!(two.since, at(10));
    }
}
