//! How much may be parked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What is parked, and the most that may be.
#[derive(Debug)]
pub(crate) struct Lounge {
    places: AtomicUsize,
    most_places: usize,
    bytes: AtomicU64,
    most_bytes: u64,
}

/// There is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// How many may be parked of `wanted`, where a listener takes so many
/// `connections` at a time: each is one, and a sixteenth is left for those that
/// are refused.
pub(crate) fn places(wanted: usize, connections: usize) -> usize {
    wanted.min(connections - connections / 16)
}

impl Lounge {
    pub(crate) fn new(most_places: usize, most_bytes: u64) -> Arc<Self> {
        Arc::new(Lounge {
            places: AtomicUsize::new(0),
            most_places,
            bytes: AtomicU64::new(0),
            most_bytes,
        })
    }

    /// A place for one request; `None` when all are taken.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Place, Full> {
        let taken = self.places.fetch_add(1, Ordering::AcqRel);
        let place = Place(self.clone());
        match taken < self.most_places {
            true => Ok(place),
            false => Err(Full),
        }
    }

    /// How many there may be.
    pub(crate) fn most_places(&self) -> usize {
        self.most_places
    }

    /// Room for a payload that is yet to come.
    pub(crate) fn room(self: &Arc<Self>) -> Room {
        Room {
            lounge: self.clone(),
            bytes: 0,
        }
    }

    /// Bytes that are held.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }
}

/// A request's place; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Lounge>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.places.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The room that a payload takes; given back when dropped.
#[derive(Debug)]
pub(crate) struct Room {
    lounge: Arc<Lounge>,
    bytes: u64,
}

impl Room {
    /// Takes `more` bytes, or none.
    pub(crate) fn grow(&mut self, more: u64) -> Result<(), Full> {
        let lounge = &self.lounge;
        let taken = lounge
            .bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |bytes| {
                bytes
                    .checked_add(more)
                    .filter(|sum| *sum <= lounge.most_bytes)
            });
        taken.map_err(|_| Full)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.lounge.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_has_a_connection_to_be_told_by() {
        assert_eq!(places(10_000, 16_384), 10_000);
        assert_eq!(places(10_000, 5_000), 4_688);
        assert_eq!(places(10_000, 16), 15);
    }

    #[test]
    fn places_and_bytes_are_bounded_and_come_back() {
        let lounge = Lounge::new(1, 10);
        let place = lounge.enter().unwrap();
        assert!(lounge.enter().is_err());
        let (mut one, mut other) = (lounge.room(), lounge.room());
        one.grow(4).unwrap();
        other.grow(6).unwrap();
        assert_eq!(one.grow(1), Err(Full));
        assert_eq!(one.grow(u64::MAX), Err(Full));
        drop(other);
        one.grow(6).unwrap();
        drop((place, one));
        assert!(lounge.enter().is_ok());
        assert_eq!(lounge.held_bytes(), 0);
    }
}
