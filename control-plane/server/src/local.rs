//! This machine: its GPUs as they were read last, and what of them is promised
//! to whom.

mod books;
mod claims;
mod placement;
mod turns;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use thermocline_policy::fleet::{Mib, Terms};
use thermocline_policy::room::{Claim, Room};
use thermocline_policy::{Moment, Resources};
use thermocline_provider::GpuProbe;
use tokio::sync::Notify;

use books::{Books, Share};
use claims::Activities;
pub(crate) use placement::Placement;
pub(crate) use turns::NoStart;

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

    /// Whether an instance of `deployment` with these resources would get room
    /// at `now`, without anybody making it.
    pub(crate) fn fits(&self, deployment: &str, resources: &Resources, now: Moment) -> bool {
        let books = self.books();
        let idle = Activities::default();
        wants(resources, &books).is_none_or(|terms| {
            let claim = Claim {
                terms: &terms,
                waits_since: None,
            };
            matches!(
                books.room(deployment, claim, &idle, now),
                Room::There { .. }
            )
        })
    }

    /// The deployment that `instance` makes room for.
    pub(crate) fn makes_room_for(&self, instance: &str) -> Option<String> {
        let books = self.books();
        books.claims.makes_room_for(instance).map(str::to_owned)
    }

    /// Drops what is set aside for deployments that wait no longer.
    pub(crate) fn forget_claims(&self, now: Moment) {
        self.books().claims.forget(now);
    }

    /// Where Docker puts an instance with these resources that names no GPUs, as
    /// earlier versions started them: the first ones. `None` where it takes
    /// nothing of them.
    pub(crate) fn unnamed(&self, resources: &Resources) -> Option<Placement> {
        let books = self.books();
        let terms = wants(resources, &books)?;
        books.first(&terms)
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

#[cfg(test)]
mod tests;
