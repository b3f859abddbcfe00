//! How far what is in a queue can be relied on, from one event to the next.

use std::time::Duration;

use thermocline_policy::Moment;

/// What is known of a queue, by witnesses `W`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen<W> {
    /// When the broker last said that it is there; `None` before the first time.
    declared: Option<Moment>,
    /// When it was first seen.
    since: Moment,
    standing: Standing<W>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing<W> {
    /// A crash of the broker may take along what is in it.
    Young {
        /// Whether it was not there before we made it.
        ours: bool,
        witness: W,
    },
    /// It is kept as well as anything is.
    Settled,
    /// Ours, and the broker may have crashed while it was young.
    Doubtful,
}

/// Who stays as long as the broker does, and is gone for good after a crash of it.
pub(super) trait Witness {
    fn is_gone(&self) -> bool;
}

impl<W: Witness> Seen<W> {
    /// It is not there, and we are about to make it. To be kept before the broker is told
    /// to: a crash may leave it behind without an answer.
    pub(super) fn missing(now: Moment, witness: W) -> Self {
        Seen::young(now, true, witness)
    }

    /// It is there, and somebody else's: what they have put into it is not ours to lose.
    pub(super) fn found(now: Moment, witness: W) -> Self {
        Seen::young(now, false, witness)
    }

    fn young(now: Moment, ours: bool, witness: W) -> Self {
        Seen {
            declared: None,
            since: now,
            standing: Standing::Young { ours, witness },
        }
    }

    /// The broker says that it is there.
    pub(super) fn declared(self, now: Moment) -> Self {
        Seen {
            since: self.declared.map_or(now, |_| self.since),
            declared: Some(now),
            standing: self.standing,
        }
    }

    /// What is still known of it; `None` where the broker may have crashed and it is not
    /// for us to doubt it.
    pub(super) fn still(self) -> Option<Self> {
        match &self.standing {
            Standing::Young { ours, witness } if witness.is_gone() => ours.then_some(Seen {
                standing: Standing::Doubtful,
                ..self
            }),
            _ => Some(self),
        }
    }

    /// Its witness was there after the time that it takes to settle.
    pub(super) fn settled(self) -> Self {
        Seen {
            standing: Standing::Settled,
            ..self
        }
    }

    /// It was doubtful and answers. It is as good as new: others may have made it anew
    /// just now. Once it is older than it takes to settle it is ours no longer, since
    /// others may rely on it.
    pub(super) fn answered(self, now: Moment, witness: W, settling: Duration) -> Self {
        Seen {
            declared: Some(now),
            since: now,
            standing: Standing::Young {
                ours: now.since(self.since) < settling,
                witness,
            },
        }
    }

    /// Whether the broker said within `span` that it is there.
    pub(super) fn is_fresh(&self, now: Moment, span: Duration) -> bool {
        self.declared.is_some_and(|at| now.since(at) < span)
    }

    /// Whether it must have expired by now, unless others use it.
    pub(super) fn is_idle(&self, now: Moment, span: Duration) -> bool {
        now.since(self.declared.unwrap_or(self.since)) >= span
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(self.standing, Standing::Settled)
    }

    pub(super) fn is_doubtful(&self) -> bool {
        matches!(self.standing, Standing::Doubtful)
    }

    /// Since when it is young, and by whom that is witnessed.
    pub(super) fn infancy(&self) -> Option<(Moment, &W)> {
        match &self.standing {
            Standing::Young { witness, .. } => Some((self.since, witness)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const SETTLING: Duration = Duration::from_millis(1_500);

    /// A session: whether it is lost.
    type Session = Cell<bool>;

    impl Witness for &Session {
        fn is_gone(&self) -> bool {
            self.get()
        }
    }

    fn at(ms: u64) -> Moment {
        Moment::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn what_a_crash_left_of_an_unanswered_making_is_doubtful() {
        let session = Session::default();
        let seen = Seen::missing(at(0), &session);
        session.set(true);
        assert!(seen.still().unwrap().is_doubtful());
    }

    /// The next session declares it anew, and lives: that says nothing of the crash before.
    #[test]
    fn a_later_session_does_not_settle_what_an_earlier_one_made() {
        let (first, second) = (Session::default(), Session::default());
        let seen = Seen::missing(at(0), &first).declared(at(10));
        first.set(true);
        let seen = seen.still().unwrap().declared(at(900)).still().unwrap();
        assert!(seen.is_doubtful() && seen.infancy().is_none());
        let seen = seen.answered(at(5_000), &second, SETTLING);
        assert_eq!(seen.infancy(), Some((at(5_000), &&second)));
    }

    #[test]
    fn it_settles_from_when_the_broker_had_made_it() {
        let session = Session::default();
        let seen = Seen::missing(at(0), &session).declared(at(400));
        assert_eq!(seen.infancy(), Some((at(400), &&session)));
        let seen = seen.declared(at(700));
        assert_eq!(seen.infancy(), Some((at(400), &&session)));
    }

    #[test]
    fn what_others_made_is_not_doubted_and_begins_anew_after_a_loss() {
        let session = Session::default();
        let seen = Seen::found(at(0), &session).declared(at(10));
        session.set(true);
        assert_eq!(seen.still(), None);
    }

    #[test]
    fn what_has_settled_outlives_any_session() {
        let session = Session::default();
        let seen = Seen::missing(at(0), &session).declared(at(10)).settled();
        session.set(true);
        assert!(seen.still().unwrap().is_settled());
    }

    /// A cut network is no crash: it answers, is as young as before, and stays ours.
    #[test]
    fn a_young_queue_that_answers_can_still_be_lost() {
        let (first, second) = (Session::default(), Session::default());
        let seen = Seen::missing(at(0), &first).declared(at(10));
        first.set(true);
        let doubtful = seen.still().unwrap();
        let young = doubtful.clone().answered(at(300), &second, SETTLING);
        let old = doubtful.answered(at(2_000), &second, SETTLING);
        second.set(true);
        assert!(young.still().unwrap().is_doubtful());
        assert_eq!(old.still(), None, "others may rely on it");
    }

    #[test]
    fn it_is_fresh_only_once_the_broker_has_answered() {
        let session = Session::default();
        let seen = Seen::missing(at(0), &session);
        assert!(!seen.is_fresh(at(0), SETTLING));
        let seen = seen.declared(at(100));
        assert!(seen.is_fresh(at(1_599), SETTLING) && !seen.is_fresh(at(1_600), SETTLING));
        assert!(!seen.is_idle(at(1_599), SETTLING) && seen.is_idle(at(1_600), SETTLING));
    }
}
