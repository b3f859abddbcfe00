use std::future::Future;
use std::time::SystemTime;

use thermocline_clock::ManualClock;
use tokio::task::JoinHandle;

use super::*;

const COLD_START: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(5);
const QUEUE_DELAY: Duration = Duration::from_secs(4);

struct Endpoint {
    time: ManualClock,
    pool: Arc<Pool>,
}

impl Endpoint {
    fn with(workers: u32) -> Self {
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let limits = Limits {
            workers,
            idle: IDLE,
            queue_delay: QUEUE_DELAY,
            cold_start: Some(COLD_START),
        };
        let pool = Pool::new(
            time.clock(),
            Arc::default(),
            limits,
            CancellationToken::new(),
        );
        Endpoint { time, pool }
    }

    /// A request, as far as it gets by itself.
    async fn request(&self) -> JoinHandle<Worker> {
        let pool = self.pool.clone();
        let request = tokio::spawn(async move { pool.acquire().await });
        settle().await;
        request
    }

    async fn pass(&self, time: Duration) {
        self.time.advance(time);
        settle().await;
    }

    fn workers(&self) -> usize {
        self.pool.lock().workers()
    }
}

/// Lets every task run until it waits.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

async fn served(request: JoinHandle<Worker>) -> Worker {
    assert!(request.is_finished(), "the request still waits");
    request.await.unwrap()
}

#[tokio::test]
async fn the_first_request_waits_for_a_cold_start_and_the_next_does_not() {
    let endpoint = Endpoint::with(1);
    let first = endpoint.request().await;
    endpoint.pass(COLD_START - Duration::from_secs(1)).await;
    assert!(!first.is_finished());
    endpoint.pass(Duration::from_secs(1)).await;
    drop(served(first).await);
    drop(served(endpoint.request().await).await);
    assert_eq!(endpoint.workers(), 1);
}

#[tokio::test]
async fn a_worker_does_one_request_at_a_time_in_order() {
    let endpoint = Endpoint::with(1);
    let first = endpoint.request().await;
    let second = endpoint.request().await;
    let third = endpoint.request().await;
    endpoint.pass(COLD_START).await;
    let worker = served(first).await;
    assert!(!second.is_finished());
    drop(worker);
    settle().await;
    let worker = served(second).await;
    assert!(!third.is_finished());
    drop(worker);
    settle().await;
    drop(served(third).await);
}

#[tokio::test]
async fn another_worker_comes_when_a_request_has_waited_long_enough() {
    let endpoint = Endpoint::with(3);
    let requests = [endpoint.request().await, endpoint.request().await];
    assert_eq!(endpoint.workers(), 1, "no queue delay has passed");
    endpoint.pass(QUEUE_DELAY).await;
    assert_eq!(
        endpoint.workers(),
        2,
        "two wait, so two are started, not three"
    );
    endpoint.pass(COLD_START).await;
    for request in requests {
        let _at_work = served(request).await;
    }
}

#[tokio::test]
async fn there_are_never_more_workers_than_allowed() {
    let endpoint = Endpoint::with(2);
    for _ in 0..6 {
        endpoint.request().await;
    }
    endpoint.pass(QUEUE_DELAY).await;
    endpoint.pass(QUEUE_DELAY).await;
    assert_eq!(endpoint.workers(), 2);
}

#[tokio::test]
async fn an_idle_worker_goes_and_work_keeps_it() {
    let endpoint = Endpoint::with(1);
    let first = endpoint.request().await;
    endpoint.pass(COLD_START).await;
    drop(served(first).await);
    endpoint.pass(IDLE - Duration::from_secs(1)).await;
    drop(served(endpoint.request().await).await);
    endpoint.pass(IDLE - Duration::from_secs(1)).await;
    assert_eq!(endpoint.workers(), 1, "it worked in between");
    endpoint.pass(Duration::from_secs(1)).await;
    assert_eq!(endpoint.workers(), 0);
    assert!(
        !endpoint.request().await.is_finished(),
        "the next start is cold again"
    );
}

#[tokio::test]
async fn a_client_that_leaves_takes_no_worker_with_it() {
    let endpoint = Endpoint::with(1);
    let leaves = endpoint.request().await;
    let stays = endpoint.request().await;
    leaves.abort();
    endpoint.pass(COLD_START).await;
    let worker = served(stays).await;
    let also_leaves = endpoint.request().await;
    drop(worker);
    also_leaves.abort();
    settle().await;
    drop(served(endpoint.request().await).await);
    assert_eq!(endpoint.workers(), 1);
}

#[tokio::test]
async fn an_endpoint_that_ends_starts_nothing_any_more() {
    let endpoint = Endpoint::with(1);
    let waits = endpoint.request().await;
    endpoint.pool.life.cancel();
    settle().await;
    endpoint.pass(COLD_START).await;
    assert!(!waits.is_finished());
}

fn assert_send<T: Send>(_: &impl Future<Output = T>) {}

#[tokio::test]
async fn waiting_can_move_between_threads() {
    let endpoint = Endpoint::with(1);
    assert_send(&endpoint.pool.acquire());
}
