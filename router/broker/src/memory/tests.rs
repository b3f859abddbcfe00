use std::time::SystemTime;

use futures_util::FutureExt;
use thermocline_clock::ManualClock;
use thermocline_policy::Moment;

use super::*;

fn limits() -> Limits {
    Limits {
        lease: Duration::from_secs(10),
        ..Limits::default()
    }
}

fn on_virtual_time() -> (ManualClock, MemoryBroker) {
    let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let broker = MemoryBroker::new(clock.clock(), &limits());
    (clock, broker)
}

async fn pass(clock: &ManualClock, seconds: u64) {
    clock.advance(Duration::from_secs(seconds));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

fn at_hand(deliveries: &mut Deliveries) -> Option<Delivery> {
    deliveries.next().now_or_never().flatten()
}

/// B31: a worker that fails for three seconds and then works. The attempts are
/// spaced by what it asks for, and none of them is the last.
#[tokio::test]
async fn b31_a_fault_of_seconds_does_not_burn_all_attempts() {
    let (clock, broker) = on_virtual_time();
    broker.publish("q", "job".into()).await.unwrap();
    let mut deliveries = broker.consume("q", 1).await.unwrap();
    let mut failed_at = Vec::new();
    loop {
        let Some(delivery) = at_hand(&mut deliveries) else {
            pass(&clock, 1).await;
            continue;
        };
        let second = clock.now().since(Moment::ORIGIN).as_secs();
        assert_eq!(delivery.attempts() as usize, failed_at.len());
        if second >= 3 {
            delivery.ack().await.unwrap();
            break;
        }
        failed_at.push(second);
        let backoff = Duration::from_secs(1 << delivery.attempts());
        delivery.retry("job".into(), backoff).await.unwrap();
    }
    assert_eq!(failed_at, [0, 1]);
    let mut letters = broker.dead_letters().await.unwrap();
    assert!(letters.next().now_or_never().is_none());
}

/// B33: a job of 35 s under a lease of 10 s. Renewed, it is delivered once;
/// when its worker dies at 12 s, it comes again at most 10 s after the last
/// renewal; when renewals are lost, the first worker learns that it is late.
#[tokio::test]
async fn b33_long_jobs_against_a_lease() {
    let (clock, broker) = on_virtual_time();
    let mut deliveries = broker.consume("q", 2).await.unwrap();
    broker.publish("q", "healthy".into()).await.unwrap();
    let healthy = at_hand(&mut deliveries).unwrap();
    for _ in 0..7 {
        pass(&clock, 5).await;
        healthy.renew().await.unwrap();
        assert!(at_hand(&mut deliveries).is_none());
    }
    healthy.ack().await.unwrap();

    broker.publish("q", "lost".into()).await.unwrap();
    let lost = at_hand(&mut deliveries).unwrap();
    pass(&clock, 9).await;
    lost.renew().await.unwrap();
    pass(&clock, 9).await;
    assert!(at_hand(&mut deliveries).is_none());
    pass(&clock, 1).await;
    let again = at_hand(&mut deliveries).unwrap();
    assert_eq!(again.attempts(), 1);
    assert_eq!(lost.renew().await, Err(crate::Lost));
    again.ack().await.unwrap();
    assert_eq!(lost.ack().await, Err(crate::Lost));
    assert!(at_hand(&mut deliveries).is_none());
}

#[tokio::test]
async fn a_thousand_messages_of_one_queue_do_not_delay_another() {
    let (_clock, broker) = on_virtual_time();
    for _ in 0..1_000 {
        broker.publish("busy", "a".into()).await.unwrap();
    }
    let mut busy = broker.consume("busy", 1).await.unwrap();
    let _held = at_hand(&mut busy).unwrap();
    let mut calm = broker.consume("calm", 1).await.unwrap();
    broker.publish("calm", "b".into()).await.unwrap();
    assert_eq!(&at_hand(&mut calm).unwrap().body()[..], b"b");
}

#[tokio::test]
async fn the_task_that_keeps_time_ends_with_the_broker() {
    let (_clock, broker) = on_virtual_time();
    let watched = Arc::downgrade(&broker.shared);
    broker.publish("q", "a".into()).await.unwrap();
    let held = broker.take("q").await.unwrap();
    drop((broker, held));
    tokio::task::yield_now().await;
    assert_eq!(watched.strong_count(), 0);
}
