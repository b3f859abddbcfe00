use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use http::StatusCode;
use thermocline_policy::{Moment, Tier};
use tokio::sync::broadcast;

use crate::{Ongoing, Outcome, Start};

/// One request that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// What it was.
    pub request: Arc<Ongoing>,
    /// The tier that served it, or would have.
    pub tier: Tier,
    /// How its backend was had.
    pub start: Start,
    /// How it ended.
    pub outcome: Outcome,
    /// The status that the client was answered with; `None` = it was not.
    pub status: Option<StatusCode>,
    /// When it was sent to a backend; `None` = never.
    pub sent: Option<Moment>,
    /// When its last byte had gone.
    pub ended: Moment,
}

/// Who is told of requests that end. While nobody is, a request pays for one
/// load of a flag.
#[derive(Debug, Default)]
pub struct Tail {
    watched: AtomicBool,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    outlet: Option<broadcast::Sender<Ended>>,
    /// The newest request that waited for a start.
    after_start: Option<Ended>,
}

impl Tail {
    /// Whether [`Tail::tell`] is wanted for a request that started so.
    #[inline]
    pub fn wants(&self, start: Start) -> bool {
        matches!(start, Start::Cold | Start::Joined) || self.watched.load(Ordering::Relaxed)
    }

    /// Tells of a request that has ended.
    #[cold]
    pub fn tell(&self, ended: Ended) {
        let mut told = self.told();
        if let Some(outlet) = &told.outlet {
            // Whoever watched may have left.
            let _ = outlet.send(ended.clone());
        }
        if matches!(ended.start, Start::Cold | Start::Joined) {
            told.after_start.get_or_insert(ended);
        }
    }

    /// From now on requests are told to `outlet`; `None` = to nobody.
    pub fn watch(&self, outlet: Option<broadcast::Sender<Ended>>) {
        self.watched.store(outlet.is_some(), Ordering::Relaxed);
        self.told().outlet = outlet;
    }

    /// Whether somebody is told.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// The first request that waited for a start and ended since the last call.
    pub fn take_after_start(&self) -> Option<Ended> {
        self.told().after_start.take()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ongoing::tests::arrived;

    fn ended(start: Start) -> Ended {
        Ended {
            request: Arc::new(Ongoing::new(arrived(0), 0)),
            tier: Tier::Pod,
            start,
            outcome: Outcome::Ok,
            status: Some(StatusCode::OK),
            sent: None,
            ended: Moment::ORIGIN,
        }
    }

    #[test]
    fn nobody_watching_only_those_that_waited_for_a_start_are_wanted() {
        let tail = Tail::default();
        let wanted = Start::ALL.map(|start| tail.wants(start));
        assert_eq!(wanted, [false, true, true, false]);
        tail.tell(ended(Start::Cold));
        assert!(tail.take_after_start().is_some());
        assert!(tail.take_after_start().is_none());
    }

    #[test]
    fn who_watches_is_told_of_every_request_until_they_leave() {
        let tail = Tail::default();
        let (outlet, mut inbox) = broadcast::channel(4);
        tail.watch(Some(outlet));
        assert!(Start::ALL.into_iter().all(|start| tail.wants(start)));
        tail.tell(ended(Start::Warm));
        assert_eq!(inbox.try_recv().unwrap().start, Start::Warm);
        tail.watch(None);
        assert!(!tail.wants(Start::Warm));
    }
}
