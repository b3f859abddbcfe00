use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a test waits for anything before it fails: real time, only ever
/// spent whole by a test that fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A state whose every change wakes whoever waits for something about it.
#[derive(Debug, Default)]
pub(crate) struct Watched<T> {
    state: Mutex<T>,
    changed: Notify,
}

impl<T> Watched<T> {
    pub(crate) fn new(state: T) -> Self {
        Watched {
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    pub(crate) fn read(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.read());
        self.changed.notify_waiters();
        result
    }

    /// What `look` finds, asked again after every change; `None` when it has
    /// found nothing after [`PATIENCE`].
    pub(crate) async fn until<R>(&self, look: impl Fn() -> Option<R>) -> Option<R> {
        let found = async {
            loop {
                // Registered before the look, so that no change slips between.
                let mut changed = std::pin::pin!(self.changed.notified());
                changed.as_mut().enable();
                if let Some(found) = look() {
                    return found;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.ok()
    }
}
