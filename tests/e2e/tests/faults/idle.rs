//! Tells when a runtime of one thread has nothing to do.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// How long another thread is given to do its work, in real time.
const A_MOMENT: Duration = Duration::from_micros(20);

/// Wakes whoever waits for the runtime to run out of work.
#[derive(Clone, Default)]
pub(crate) struct Idle(Arc<Mutex<Option<Waker>>>);

impl Idle {
    /// The thread is about to sleep: called by the runtime.
    pub(crate) fn parks(&self) {
        if let Some(waker) = self.0.lock().unwrap().take() {
            waker.wake();
        }
    }

    /// Ends when no task has anything to do.
    pub(crate) async fn reached(&self) {
        let mut asked = false;
        poll_fn(|cx| {
            let mut waker = self.0.lock().unwrap();
            if asked && waker.is_none() {
                return Poll::Ready(());
            }
            asked = true;
            *waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Lets the threads of the store go on, and ends when what that set off is
    /// done too.
    #[allow(clippy::disallowed_methods)] // threads that keep no virtual time
    pub(crate) async fn reached_again(&self) {
        std::thread::sleep(A_MOMENT);
        self.reached().await;
    }
}
