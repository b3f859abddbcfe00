use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use futures_util::{Stream, stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::shared::Shared;
use super::state::{Message, Place};
use crate::Announcements;

/// A consumer of a queue: yields what it may hold, each with the delivery's name.
pub(super) struct Subscription {
    shared: Arc<Shared>,
    place: Place,
    consumer: u64,
    waker: Arc<AtomicWaker>,
}

impl Subscription {
    pub(super) fn new(shared: &Arc<Shared>, place: Place, prefetch: usize) -> Self {
        let waker: Arc<AtomicWaker> = Arc::default();
        let consumer = shared.with(|state, now| state.join(&place, prefetch, waker.clone(), now));
        Subscription {
            shared: shared.clone(),
            place,
            consumer,
            waker,
        }
    }
}

impl Stream for Subscription {
    type Item = (u64, Message);

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.waker.register(cx.waker());
        let next = self
            .shared
            .with(|state, now| state.next(&self.place, self.consumer, now));
        next.map_or(Poll::Pending, |held| Poll::Ready(Some(held)))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared
            .with(|state, now| state.leave(&self.place, self.consumer, now));
    }
}

/// What is announced from now on; a listener that is slow goes on with the oldest that is kept.
pub(super) fn announcements(listener: broadcast::Receiver<Bytes>) -> Announcements {
    Box::pin(stream::unfold(listener, |mut listener| async move {
        loop {
            match listener.recv().await {
                Ok(body) => return Some((body, listener)),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }))
}
