use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use thermocline_clock::ManualClock;
use tokio::sync::oneshot;

use super::*;

struct Airfield {
    flights: Flights,
    time: ManualClock,
    starts: Arc<AtomicUsize>,
}

impl Airfield {
    fn new() -> Self {
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        Airfield {
            flights: Flights::new(FlightLimits::default(), time.clock(), Handle::current()),
            time,
            starts: Arc::default(),
        }
    }

    fn key(&self) -> Key {
        ("m".into(), 1, Tier::Pod)
    }

    /// Joins; if that begins a flight, it lands with what is sent.
    fn join(
        &self,
        most: u32,
    ) -> (
        Result<Waiter, Refused>,
        oneshot::Sender<Result<(), StartFailed>>,
    ) {
        let (land, landing) = oneshot::channel();
        let starts = self.starts.clone();
        let start = async move {
            starts.fetch_add(1, Ordering::SeqCst);
            landing.await.unwrap_or_else(|_| Err(interrupted()))
        };
        (self.flights.join(self.key(), most, |_| start), land)
    }

    fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }
}

fn no_capacity() -> StartFailed {
    StartFailed {
        code: "no_capacity",
        detail: "none left".into(),
        retry_after: Duration::ZERO,
    }
}

#[tokio::test]
async fn b03_a_thousand_requests_share_one_start() {
    let field = Airfield::new();
    let (first, land) = field.join(2000);
    let mut waiters = vec![first.unwrap()];
    for _ in 1..1000 {
        waiters.push(field.join(2000).0.unwrap());
    }
    assert_eq!(waiters.iter().filter(|w| w.first).count(), 1);
    land.send(Ok(())).unwrap();
    for waiter in waiters {
        assert_eq!(waiter.landed().await, Ok(()));
    }
    assert_eq!(field.starts(), 1);
}

#[tokio::test]
async fn b04_the_start_goes_on_when_its_first_caller_leaves() {
    let field = Airfield::new();
    let (first, land) = field.join(10);
    drop(first);
    tokio::task::yield_now().await;
    let second = field.join(10).0.unwrap();
    assert!(!second.first);
    land.send(Ok(())).unwrap();
    assert_eq!(second.landed().await, Ok(()));
    assert_eq!(field.starts(), 1);
}

#[tokio::test]
async fn waiters_are_bounded_and_who_leaves_makes_room() {
    let field = Airfield::new();
    let (first, _land) = field.join(2);
    let first = first.unwrap();
    let _second = field.join(2).0.unwrap();
    assert_eq!(field.join(2).0.err(), Some(Refused::Full));
    drop(first);
    assert!(field.join(2).0.is_ok());
    assert_eq!(field.flights.waiting(&field.key()), 1);
}

#[tokio::test]
async fn a_failure_is_remembered_and_its_back_off_doubles() {
    let field = Airfield::new();
    for seconds in [1, 2, 4] {
        let (waiter, land) = field.join(10);
        land.send(Err(no_capacity())).unwrap();
        assert_eq!(waiter.unwrap().landed().await, Err(no_capacity()));
        let Err(Refused::BackingOff(error)) = field.join(10).0 else {
            panic!("must back off")
        };
        assert_eq!(error.retry_after, Duration::from_secs(seconds));
        field.time.advance(Duration::from_secs(seconds));
    }
    assert_eq!(field.starts(), 3);
}

#[tokio::test]
async fn a_start_that_was_called_off_is_not_held_against_the_next() {
    let field = Airfield::new();
    let (waiter, land) = field.join(10);
    let called_off = StartFailed {
        code: "stopped",
        ..no_capacity()
    };
    land.send(Err(called_off.clone())).unwrap();
    assert_eq!(waiter.unwrap().landed().await, Err(called_off));
    assert!(field.join(10).0.is_ok());
}

#[tokio::test]
async fn a_new_generation_is_not_held_to_an_old_failure() {
    let field = Airfield::new();
    let (waiter, land) = field.join(10);
    land.send(Err(no_capacity())).unwrap();
    let _ = waiter.unwrap().landed().await;
    let corrected = ("m".into(), 2, Tier::Pod);
    assert!(
        field
            .flights
            .join(corrected, 10, |_| async { Ok(()) })
            .is_ok()
    );
}

#[tokio::test]
async fn a_start_that_panics_ends_its_flight() {
    let field = Airfield::new();
    let crash = |_| async { panic!("boom") };
    let waiter = field.flights.join(field.key(), 1, crash);
    assert_eq!(waiter.unwrap().landed().await, Err(interrupted()));
}
