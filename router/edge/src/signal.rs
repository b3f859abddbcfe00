use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A cancellation, for a task that is polled far more often than it is
/// cancelled: it is registered for once, and then only looked at.
///
/// To be polled by one task only, as a connection is.
pub(crate) struct Signal {
    token: CancellationToken,
    registered: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
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
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        if self.registered.is_none() {
            let mut wait = Box::pin(self.token.clone().cancelled_owned());
            let poll = wait.as_mut().poll(cx);
            self.registered = Some(wait);
            return poll;
        }
        Poll::Pending
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
