use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use http::Method;
use thermocline_policy::{Moment, Tier};

use crate::Deployment;

/// Of a path so many bytes are kept.
const LONGEST_PATH: usize = 256;

/// What is known of a request when it comes.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    /// The deployment that it is for.
    pub deployment: &'a Arc<Deployment>,
    /// When it came.
    pub at: Moment,
    /// The tier that would serve it now.
    pub tier: Tier,
    /// Its method.
    pub method: &'a Method,
    /// Its path as the client wrote it, without the query.
    pub path: &'a str,
    /// Its `x-request-id`; clients may use one more than once.
    pub request_id: &'a str,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// For a tier, a start or a place.
    Waiting,
    /// A backend has it and has not answered.
    Sent,
    /// The answer is on its way to the client.
    Answering,
}

/// One request that is on its way.
#[derive(Debug)]
pub struct Ongoing {
    /// The deployment that it is for.
    pub deployment: Arc<Deployment>,
    /// When it came.
    pub arrived: Moment,
    /// Its method.
    pub method: Method,
    pub(crate) turn: u64,
    /// The request id, then the path: one allocation for both.
    words: Box<str>,
    path_from: usize,
    tier: AtomicU8,
    stage: AtomicU8,
    cancelled: AtomicBool,
    waker: AtomicWaker,
}

impl Ongoing {
    pub(crate) fn new(arrived: Arrived<'_>, turn: u64) -> Self {
        let path = &arrived.path[..arrived.path.floor_char_boundary(LONGEST_PATH)];
        Ongoing {
            deployment: arrived.deployment.clone(),
            arrived: arrived.at,
            method: arrived.method.clone(),
            turn,
            words: [arrived.request_id, path].concat().into_boxed_str(),
            path_from: arrived.request_id.len(),
            tier: AtomicU8::new(arrived.tier as u8),
            stage: AtomicU8::new(Stage::Waiting as u8),
            cancelled: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    /// Its path without the query; the first 256 bytes.
    pub fn path(&self) -> &str {
        &self.words[self.path_from..]
    }

    /// Its `x-request-id`.
    pub fn request_id(&self) -> &str {
        &self.words[..self.path_from]
    }

    /// The tier that serves it, or would.
    pub fn tier(&self) -> Tier {
        let tier = Tier::from_index(self.tier.load(Ordering::Relaxed));
        tier.unwrap_or(Tier::Serverless)
    }

    /// `tier` serves it.
    pub fn serve(&self, tier: Tier) {
        self.tier.store(tier as u8, Ordering::Relaxed);
    }

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed))]
    }

    /// It has come so far.
    pub fn reach(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// Has it end at once, by an operator's wish; whether nobody had before.
    pub fn cancel(&self) -> bool {
        let first = !self.cancelled.swap(true, Ordering::AcqRel);
        self.waker.wake();
        first
    }

    /// Whether an operator wants it to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Ready once it is cancelled; for the one task that has it in hand.
    pub fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        match self.is_cancelled() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Returns once it is cancelled; for the one task that has it in hand.
    pub async fn cancelled(&self) {
        poll_fn(|cx| self.poll_cancelled(cx)).await;
    }

    /// What comes of `work`, which is its own task's; `None` once it is cancelled.
    pub async fn unless_cancelled<F: Future>(&self, mut work: Pin<&mut F>) -> Option<F::Output> {
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll_cancelled(cx).map(|()| None),
        })
        .await
    }
}

impl Stage {
    const ALL: [Stage; 3] = [Stage::Waiting, Stage::Sent, Stage::Answering];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Waiting => "waiting",
            Stage::Sent => "sent",
            Stage::Answering => "answering",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;
    use std::task::Waker;
    use std::time::{Duration, SystemTime};

    use regex::RegexSet;
    use thermocline_clock::ManualClock;
    use thermocline_policy::{Defaults, Spec};

    use super::*;
    use crate::Config;

    static DEPLOYMENT: LazyLock<Arc<Deployment>> = LazyLock::new(|| {
        let spec = Spec::named("m");
        let config = Config {
            settings: spec.settings(&Defaults::default()),
            spec,
            generation: 1,
            stopped: false,
            deleting: false,
            forced: None,
            ignore: RegexSet::empty(),
        };
        let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH).clock();
        Arc::new(Deployment::new(config, None, clock))
    });

    /// A request that came so many seconds after the beginning.
    pub(crate) fn arrived(seconds: u64) -> Arrived<'static> {
        Arrived {
            deployment: &DEPLOYMENT,
            at: Moment::ORIGIN + Duration::from_secs(seconds),
            tier: Tier::Pod,
            method: &Method::POST,
            path: "/v1/chat",
            request_id: "r-1",
        }
    }

    #[test]
    fn who_waits_is_woken_by_a_cancellation_whichever_comes_first() {
        let ongoing = Ongoing::new(arrived(0), 0);
        let cx = Context::from_waker(Waker::noop());
        assert!(ongoing.poll_cancelled(&cx).is_pending());
        assert!(ongoing.cancel(), "nobody had");
        assert!(!ongoing.cancel(), "somebody had");
        assert!(ongoing.poll_cancelled(&cx).is_ready());
    }

    #[test]
    fn id_and_path_are_told_apart_and_a_long_path_is_cut_between_two_letters() {
        let path = format!("/{}", "ü".repeat(LONGEST_PATH));
        let long = Arrived {
            path: &path,
            ..arrived(0)
        };
        let ongoing = Ongoing::new(long, 0);
        assert_eq!(ongoing.request_id(), "r-1");
        assert_eq!(ongoing.path().len(), LONGEST_PATH - 1);
        assert_eq!(Ongoing::new(arrived(0), 0).path(), "/v1/chat");
    }
}
