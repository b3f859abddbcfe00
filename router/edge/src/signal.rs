use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A cancellation, for a task that is polled far more often than it is
/// cancelled: the token, which has a lock, is asked once, and then again only
/// when it has woken the task.
///
/// To be polled by one task only, as a connection is.
pub(crate) struct Signal {
    token: CancellationToken,
    registered: Option<Registered>,
}

struct Registered {
    wait: Pin<Box<WaitForCancellationFutureOwned>>,
    bell: Arc<Bell>,
}

/// The task's waker, and whether it has been used.
struct Bell {
    rung: AtomicBool,
    task: Waker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl Signal {
    pub(crate) fn of(token: &CancellationToken) -> Self {
        Signal {
            token: token.clone(),
            registered: None,
        }
    }

    /// Whether it has come.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let registered = self.registered.get_or_insert_with(|| Registered {
            wait: Box::pin(self.token.clone().cancelled_owned()),
            bell: Arc::new(Bell {
                rung: AtomicBool::new(true),
                task: cx.waker().clone(),
            }),
        });
        if !registered.bell.rung.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        registered.bell.rung.store(false, Ordering::Release);
        let waker = Waker::from(registered.bell.clone());
        registered
            .wait
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
    }

    /// `work`, unless the signal comes first: then `None`.
    pub(crate) async fn unless<F: Future>(mut self, mut work: Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll(cx).map(|()| None),
        })
        .await
    }
}
