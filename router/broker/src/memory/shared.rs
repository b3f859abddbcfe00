use std::sync::{Arc, Mutex, Weak};

use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::sync::Notify;

use super::state::State;
use crate::Limits;

/// The state behind its lock, and the clock that it goes by.
pub(super) struct Shared {
    state: Mutex<State>,
    clock: Clock,
    sooner: Arc<Notify>,
}

impl Shared {
    /// Begins without a message, with the task that does what is due.
    pub(super) fn start(clock: Clock, limits: &Limits) -> Arc<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(limits.clone())),
            clock: clock.clone(),
            sooner: Arc::default(),
        });
        let watched = Arc::downgrade(&shared);
        tokio::spawn(keep_time(watched, clock, shared.sooner.clone()));
        shared
    }

    /// Does `what` under the lock; whoever it wakes is woken after.
    pub(super) fn with<T>(&self, what: impl FnOnce(&mut State, Moment) -> T) -> T {
        let now = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let done = what(&mut state, now);
        let woken = std::mem::take(&mut state.woken);
        let sooner = state.look_sooner();
        drop(state);
        if sooner {
            self.sooner.notify_one();
        }
        woken.into_iter().for_each(std::task::Waker::wake);
        done
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.sooner.notify_one();
    }
}

/// Does what is due until nobody uses the broker any more.
async fn keep_time(shared: Weak<Shared>, clock: Clock, sooner: Arc<Notify>) {
    loop {
        let Some(next) = shared.upgrade().map(|shared| shared.with(State::tick)) else {
            return;
        };
        tokio::select! {
            () = clock.sleep_until(next) => {}
            () = sooner.notified() => {}
        }
    }
}
