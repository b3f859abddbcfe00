//! When the next call of a kind may be made.

use std::time::Duration;

use thermocline_policy::Moment;

use crate::settings::Spacing;

/// A call that would have to wait longer is not made.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The largest spacing that is believed.
const LONGEST_SPACING: Duration = Duration::from_secs(60);
/// A call that came too early is held against us: so many spacings of silence.
const PENALTY: u32 = 3;
/// The spacing of a kind that had none before it was refused.
const LEAST_LEARNED: Duration = Duration::from_secs(1);

/// The kinds of calls that the service counts by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Search,
    Create,
    List,
    Show,
    Destroy,
}

/// The turns of one account.
#[derive(Debug, Clone)]
pub(crate) struct Pace([Turn; 5]);

#[derive(Debug, Clone, Copy)]
struct Turn {
    spacing: Duration,
    /// No call before.
    next: Moment,
    /// Calls that wait or are being made.
    queue: u32,
}

impl Pace {
    pub(crate) fn new(spacing: Spacing) -> Self {
        let spacings = [
            spacing.search,
            spacing.create,
            spacing.list,
            spacing.show,
            spacing.destroy,
        ];
        Pace(spacings.map(|spacing| Turn {
            spacing,
            next: Moment::ORIGIN,
            queue: 0,
        }))
    }

    /// Takes a place in the queue of `lane`.
    ///
    /// # Errors
    /// How long it would have to wait, where that is too long.
    pub(crate) fn enqueue(&mut self, lane: Lane, now: Moment) -> Result<(), Duration> {
        let turn = &mut self.0[lane as usize];
        let wait = now.until(turn.next.max(now)) + turn.spacing * turn.queue;
        if wait > LONGEST_WAIT {
            return Err(wait);
        }
        turn.queue += 1;
        Ok(())
    }

    /// Gives a place in the queue of `lane` back.
    pub(crate) fn leave(&mut self, lane: Lane) {
        let turn = &mut self.0[lane as usize];
        turn.queue = turn.queue.saturating_sub(1);
    }

    /// How long the first in the queue of `lane` has to wait at `now`.
    pub(crate) fn wait(&self, lane: Lane, now: Moment) -> Duration {
        now.until(self.0[lane as usize].next.max(now))
    }

    /// Notes that a call of `lane` was sent or answered at `now`: when between
    /// the two the service counted it, nobody knows.
    pub(crate) fn note(&mut self, lane: Lane, now: Moment) {
        let turn = &mut self.0[lane as usize];
        turn.next = turn.next.max(now + turn.spacing);
    }

    /// Learns from a call of `lane` that was refused as too early: its threshold
    /// and the delay, where they were named. How long to be silent.
    pub(crate) fn refused(
        &mut self,
        lane: Lane,
        threshold: Option<Duration>,
        delay: Option<Duration>,
        now: Moment,
    ) -> Duration {
        let turn = &mut self.0[lane as usize];
        let learned = threshold.unwrap_or(LEAST_LEARNED).min(LONGEST_SPACING);
        turn.spacing = turn.spacing.max(learned);
        let silence = delay.unwrap_or(turn.spacing * PENALTY);
        turn.next = turn.next.max(now + silence);
        silence
    }
}

/// The threshold in `API requests too frequent: endpoint threshold=4.5`, where
/// there is one.
pub(crate) fn threshold(words: &str) -> Option<Duration> {
    let (_, rest) = words.split_once("threshold=")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let seconds: f64 = rest[..end.unwrap_or(rest.len())].parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Moment {
        Moment::ORIGIN + Duration::from_secs_f64(seconds)
    }

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn calls_of_a_kind_are_apart_from_the_answer_of_the_last_and_hold_up_no_others() {
        let mut pace = Pace::new(Spacing::default());
        assert_eq!(pace.wait(Lane::Create, at(0.0)), Duration::ZERO);
        pace.note(Lane::Create, at(0.0));
        pace.note(Lane::Create, at(1.0));
        assert_eq!(pace.wait(Lane::Create, at(2.0)), secs(3.5));
        assert_eq!(pace.wait(Lane::Destroy, at(2.0)), Duration::ZERO);
        assert_eq!(pace.wait(Lane::Create, at(20.0)), Duration::ZERO);
    }

    #[test]
    fn a_call_with_too_many_before_it_is_refused_and_takes_no_place() {
        let mut pace = Pace::new(Spacing::default());
        let places = (0..100).filter(|_| pace.enqueue(Lane::Create, at(0.0)).is_ok());
        assert_eq!(places.count(), 7);
        assert_eq!(pace.enqueue(Lane::Create, at(0.0)), Err(secs(31.5)));
        pace.leave(Lane::Create);
        assert_eq!(pace.enqueue(Lane::Create, at(0.0)), Ok(()));
    }

    #[test]
    fn a_spacing_is_learned_from_a_refusal_and_never_forgotten() {
        let mut pace = Pace::new(Spacing::NONE);
        let named = threshold("API requests too frequent: endpoint threshold=4.5");
        assert_eq!(named, Some(secs(4.5)));
        let silence = pace.refused(Lane::Create, named, None, at(0.0));
        assert_eq!(silence, secs(13.5));
        assert_eq!(pace.wait(Lane::Create, at(0.0)), silence);
        pace.refused(Lane::Create, Some(secs(1.0)), None, at(20.0));
        pace.note(Lane::Create, at(40.0));
        assert_eq!(pace.wait(Lane::Create, at(40.0)), secs(4.5));
    }

    #[test]
    fn a_delay_that_is_named_is_kept_and_no_longer() {
        let mut pace = Pace::new(Spacing::NONE);
        let silence = pace.refused(Lane::List, None, Some(secs(7.0)), at(0.0));
        assert_eq!(silence, secs(7.0));
        assert_eq!(pace.wait(Lane::List, at(3.0)), secs(4.0));
    }

    #[test]
    fn words_without_a_threshold_give_none() {
        for words in ["", "threshold", "threshold=", "threshold=x", "threshold=-1"] {
            assert_eq!(threshold(words), None, "{words}");
        }
        let json = r#"{"detail":"too frequent endpoint threshold=2.0"}"#;
        assert_eq!(threshold(json), Some(Duration::from_secs(2)));
    }
}
