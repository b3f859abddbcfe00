//! This machine: its GPUs as they were read last, and what of them is promised
//! to whom.

mod books;
mod placement;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use thermocline_policy::fleet::{Mib, Terms};
use thermocline_policy::room::{Claim, Room};
use thermocline_policy::{Moment, Resources};
use thermocline_provider::GpuProbe;
use tokio::sync::Notify;

use books::{Books, Share};
pub(crate) use placement::Placement;

/// The GPUs of this machine.
pub(crate) struct Machine {
    probe: Arc<dyn GpuProbe>,
    books: Mutex<Books>,
    /// Asks for a reading soon.
    look: Notify,
}

impl Machine {
    /// Nothing read yet, nothing promised.
    pub(crate) fn new(probe: Arc<dyn GpuProbe>) -> Self {
        Machine {
            probe,
            books: Mutex::default(),
            look: Notify::new(),
        }
    }

    /// Whether an instance with these resources would get room at `now`.
    pub(crate) fn fits(&self, resources: &Resources, now: Moment) -> bool {
        let books = self.books();
        wants(resources, &books)
            .is_none_or(|terms| matches!(books.room(claim(&terms), now), Room::There { .. }))
    }

    /// Promises `instance` what it takes; `None` where it takes nothing.
    ///
    /// # Errors
    /// What it needs and what there is.
    pub(crate) fn reserve(
        &self,
        instance: &str,
        resources: &Resources,
        now: Moment,
    ) -> Result<Option<Placement>, String> {
        let mut books = self.books();
        let Some(terms) = wants(resources, &books) else {
            return Ok(None);
        };
        let Room::There { devices } = books.room(claim(&terms), now) else {
            return Err(books.shortage(&terms).to_string());
        };
        let placement = books.placement(&devices, terms.share());
        books.hold(instance, Share::of(placement.clone(), now));
        Ok(Some(placement))
    }

    /// Counts what an instance of an earlier process holds, whether it fits or not.
    pub(crate) fn adopt(&self, instance: &str, placement: Placement, ready: bool, now: Moment) {
        let mut share = Share::of(placement, now);
        // Any reading of this process shows what it takes.
        share.ready_at = ready.then_some(Moment::ORIGIN);
        self.books().hold(instance, share);
    }

    /// Notes that `instance` answers from `now` on: readings show what it takes.
    pub(crate) fn ready(&self, instance: &str, now: Moment) {
        self.books().ready(instance, now);
        self.look.notify_one();
    }

    /// Takes `instance`'s promise back.
    pub(crate) fn release(&self, instance: &str) {
        if self.books().release(instance) {
            self.look.notify_one();
        }
    }

    /// The GPUs for who looks at them, and why they could not be read.
    pub(crate) fn json(&self) -> (Vec<Value>, Option<String>) {
        let books = self.books();
        let gpus = books.reserved().map(|(gpu, reserved)| {
            json!({
                "index": gpu.index,
                "uuid": gpu.uuid,
                "name": gpu.name,
                "total_mib": Mib::within(gpu.total).0,
                "used_mib": gpu.used.map(|used| Mib::covering(used).0),
                "reserved_mib": reserved.0,
            })
        });
        (gpus.collect(), books.error().map(str::to_owned))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an instance takes of the GPUs; `None` where it takes nothing. Without a
/// floor, and on a machine of which no GPU is known, Docker alone decides.
fn wants(resources: &Resources, books: &Books) -> Option<Terms> {
    let counts = resources.vram > 0 || (resources.gpus > 0 && books.has_gpus());
    counts.then(|| Terms {
        memory: Mib::covering(resources.vram),
        devices: resources.gpus,
        ..Terms::default()
    })
}

/// The claim of a start that nobody makes room for.
fn claim(terms: &Terms) -> Claim<'_> {
    Claim {
        terms,
        waits_since: None,
    }
}

#[cfg(test)]
mod tests;
