//! The workers of a serverless endpoint.
//!
//! A worker does one request at a time. It starts when a request comes and
//! there is none, or when a request has waited long enough; it goes when it
//! has had nothing to do for a while. Requests wait in the order of arrival.

mod state;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_clock::Clock;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::settings::LiveSettings;
use state::State;

/// The bounds of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most workers; at least 1.
    pub(crate) workers: u32,
    /// How long a worker without work stays.
    pub(crate) idle: Duration,
    /// How long a request waits before it asks for another worker.
    pub(crate) queue_delay: Duration,
    /// How long a worker takes to start; the cloud's setting when absent.
    pub(crate) cold_start: Option<Duration>,
}

/// The workers of one endpoint and who waits for them.
pub(crate) struct Pool {
    clock: Clock,
    settings: Arc<LiveSettings>,
    limits: Limits,
    /// Ends the pool's tasks.
    life: CancellationToken,
    state: Mutex<State>,
}

/// A worker that is at work; free again when dropped.
pub(crate) struct Worker(Option<Arc<Pool>>);

impl Pool {
    /// A pool without workers, whose tasks end with `life`.
    pub(crate) fn new(
        clock: Clock,
        settings: Arc<LiveSettings>,
        limits: Limits,
        life: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Pool {
            clock,
            settings,
            limits,
            life,
            state: Mutex::default(),
        })
    }

    /// Waits for a worker, and starts one where the rules say so.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Worker {
        let mut turn = match self.enter() {
            Ok(worker) => return worker,
            Err(turn) => turn,
        };
        tokio::select! {
            biased;
            Ok(worker) = &mut turn => return worker,
            () = self.clock.sleep(self.limits.queue_delay) => self.boot_for_waiting(),
        }
        match turn.await {
            Ok(worker) => worker,
            // The pool is dropped only after whoever waits on it.
            Err(_) => std::future::pending().await,
        }
    }

    /// Takes an idle worker, or a place in the queue.
    fn enter(self: &Arc<Self>) -> Result<Worker, oneshot::Receiver<Worker>> {
        let mut state = self.lock();
        if state.take_idle() {
            return Ok(Worker(Some(self.clone())));
        }
        let (turn, waits) = oneshot::channel();
        state.queue.push_back(turn);
        if state.workers() == 0 && state.begin_boot(self.limits.workers) {
            self.boot();
        }
        Err(waits)
    }

    /// Starts one more worker, if there is room and somebody whom none is starting for.
    fn boot_for_waiting(self: &Arc<Self>) {
        if self.lock().begin_boot(self.limits.workers) {
            self.boot();
        }
    }

    fn boot(self: &Arc<Self>) {
        let settings = self.settings.get();
        let boot = self.limits.cold_start.unwrap_or(settings.cold_start);
        let booted = self.clock.sleep(boot);
        let (pool, life) = (self.clone(), self.life.clone());
        tokio::spawn(async move {
            if life.run_until_cancelled(booted).await.is_some() {
                pool.lock().booting -= 1;
                pool.hand_on();
            }
        });
    }

    /// Gives a worker that is free to whoever waits longest, or lets it idle.
    fn hand_on(self: &Arc<Self>) {
        let mut worker = Worker(Some(self.clone()));
        let mut state = self.lock();
        while let Some(turn) = state.queue.pop_front() {
            state.busy += 1;
            match turn.send(worker) {
                Ok(()) => return,
                Err(refused) => worker = refused,
            }
            state.busy -= 1; // who waited has left
        }
        worker.0 = None;
        state.idle.push_back(self.clock.now() + self.limits.idle);
        if !std::mem::replace(&mut state.reaping, true) {
            tokio::spawn(self.clone().reap());
        }
    }

    /// Lets workers go whose time is up; ends when none idles.
    async fn reap(self: Arc<Self>) {
        loop {
            let next = self.lock().next_departure(self.clock.now());
            let Some(next) = next else { return };
            let due = self.clock.sleep_until(next);
            if self.life.run_until_cancelled(due).await.is_none() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(pool) = self.0.take() {
            pool.lock().busy -= 1;
            pool.hand_on();
        }
    }
}
