//! One instance and the task that drives it from intent to confirmed absence.

mod advance;
mod again;
mod alone;
mod amend;
mod create;
mod drive;
mod missed;
mod price;
mod release;
mod serve;
mod size;
mod start;
mod stop;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_policy::{InstanceState, Moment, NanoUsd, Tier};
use thermocline_provider::{Address, InstanceRequest, Provider, ProviderInstance};
use thermocline_store::InstanceRow;
use thermocline_table::Backend;
use tokio::sync::Notify;

use crate::provider::Registered;
use price::Readings;
use size::Size;

/// A young instance may be hidden from a provider's calls for this long.
const VISIBLE_WITHIN: Duration = Duration::from_secs(30);

/// One running thing that we caused to exist, or are about to.
pub(crate) struct Instance {
    /// Our id, which the provider knows as its key.
    pub(crate) id: String,
    pub(crate) tier: Tier,
    pub(crate) slot: u32,
    pub(crate) fingerprint: String,
    pub(crate) provider: Arc<Registered>,
    pub(crate) request: InstanceRequest,
    /// When this process began to drive it.
    pub(crate) since: Moment,
    /// Whether an earlier process wished for it.
    pub(crate) adopted: bool,
    /// Whether a create that nothing is known of may have made it, be it an
    /// earlier process's.
    doubtful: AtomicBool,
    /// Wakes its driver.
    pub(crate) nudge: Notify,
    /// Until when its driver rests; the origin while it works.
    rests_until: AtomicU64,
    /// One write at a time.
    writing: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
}

/// Where an instance comes from.
pub(crate) enum Origin {
    /// It was intended just now.
    Intended,
    /// An earlier run left it, reached at this address.
    Adopted(Option<Address>),
}

struct Known {
    row: InstanceRow,
    /// Where it is reached, as its provider says.
    address: Option<Address>,
    backend: Option<Arc<Backend>>,
    /// What lists say of its price.
    readings: Readings,
    /// How many workers its provider was told of.
    size: Size,
    /// Complete lists in a row that lacked it.
    missing: u32,
    /// Whether a get or a list has ever shown it: no longer too young for them.
    shown: bool,
    /// Whether its provider said, asked for it alone, that there is no such instance.
    unknown: bool,
    /// For how long it was not paid for, since its provider did not show it.
    owed: Duration,
    /// When its lifetime last began, as far as this process knows.
    renewed_at: Option<Moment>,
}

impl Instance {
    pub(crate) fn new(
        row: InstanceRow,
        provider: Arc<Registered>,
        request: InstanceRequest,
        since: Moment,
        origin: Origin,
    ) -> Self {
        let (adopted, address) = match origin {
            Origin::Intended => (false, None),
            Origin::Adopted(address) => (true, address),
        };
        let size = match adopted {
            // Nobody knows what an earlier process told.
            true => Size::default(),
            false => Size::of(request.max_workers),
        };
        Instance {
            id: row.id.clone(),
            tier: row.tier,
            slot: row.slot,
            fingerprint: row.fingerprint.clone(),
            provider,
            request,
            since,
            adopted,
            doubtful: AtomicBool::new(adopted),
            nudge: Notify::new(),
            rests_until: AtomicU64::new(Moment::ORIGIN.nanos()),
            writing: tokio::sync::Mutex::new(()),
            known: Mutex::new(Known {
                row,
                address,
                backend: None,
                readings: Readings::default(),
                size,
                missing: 0,
                shown: false,
                unknown: false,
                owed: Duration::ZERO,
                renewed_at: (!adopted).then_some(since),
            }),
        }
    }

    /// Notes whether its provider, asked for it alone, says that there is no such instance:
    /// that decides, whatever its lists hold.
    pub(crate) fn set_unknown(&self, unknown: bool) {
        self.known().unknown = unknown;
    }

    /// Whether it is on its way out and its provider knows it no more: it is looked for
    /// until its absence is proven, but takes nobody's place and is paid for no more.
    pub(crate) fn is_only_looked_for(&self) -> bool {
        let known = self.known();
        known.unknown && matches!(known.row.state, InstanceState::Stopping { .. })
    }

    /// For how long of `span` it is to be paid for: for none while its provider does not
    /// show it, and for all of it once it does again.
    pub(crate) fn payable(&self, span: Duration) -> Duration {
        let unlisted = |id| self.provider.lacks(id);
        let mut known = self.known();
        let id = known.row.state.provider_id();
        if known.unknown || known.missing > 0 || id.is_some_and(unlisted) {
            known.owed += span;
            return Duration::ZERO;
        }
        span + std::mem::take(&mut known.owed)
    }

    /// Its driver rests until then, or until the guard is dropped.
    pub(crate) fn rest(&self, until: Moment) -> Rest<'_> {
        self.rests_until.store(until.nanos(), Ordering::Release);
        Rest(self)
    }

    /// Whether its driver has something to do at `now`.
    pub(crate) fn is_worked_on(&self, now: Moment) -> bool {
        self.rests_until.load(Ordering::Acquire) <= now.nanos()
    }

    /// Where it stands.
    pub(crate) fn state(&self) -> InstanceState {
        self.known().row.state.clone()
    }

    /// Its row as last written.
    pub(crate) fn row(&self) -> InstanceRow {
        self.known().row.clone()
    }

    /// Where it is reached, once known, with what is not written down.
    pub(crate) fn address(&self) -> Option<Address> {
        Some(self.provider.adapter.reach(&self.own_address()?))
    }

    /// Where it is reached, as its provider says.
    fn own_address(&self) -> Option<Address> {
        self.known().address.clone()
    }

    /// Notes where it is reached.
    fn learn_address(&self, address: Address) {
        self.known().address = Some(address);
    }

    /// What the router sends to, once ready.
    pub(crate) fn backend(&self) -> Option<Arc<Backend>> {
        self.known().backend.clone()
    }

    pub(crate) fn set_backend(&self, backend: Backend) {
        self.known().backend = Some(Arc::new(backend));
    }

    /// What it costs while it exists, as was written down.
    pub(crate) fn usd_per_hour(&self) -> Option<NanoUsd> {
        self.known().row.usd_per_hour
    }

    /// Counts a complete list that lacked it; how many in a row.
    pub(crate) fn missed(&self) -> u32 {
        let mut known = self.known();
        known.missing += 1;
        known.missing
    }

    /// Notes that a list or a get had it.
    pub(crate) fn seen(&self) {
        let mut known = self.known();
        (known.missing, known.shown) = (0, true);
    }

    /// When its lifetime last began at the latest; `None` where an earlier
    /// process knows.
    pub(crate) fn renewed_at(&self) -> Option<Moment> {
        self.known().renewed_at
    }

    /// Notes that its lifetime began anew at `now` or later.
    pub(crate) fn renewed(&self, now: Moment) {
        self.known().renewed_at = Some(now);
    }

    /// Whether its absence from an answer at `now` says anything: a young
    /// instance may be hidden from calls.
    pub(crate) fn is_visible(&self, now: Moment) -> bool {
        self.known().shown || self.is_old(now)
    }

    /// Whether every call should know it at `now`, lists too.
    pub(crate) fn is_old(&self, now: Moment) -> bool {
        now.since(self.since) >= VISIBLE_WITHIN
    }

    /// Whether `seen` is it, and not a stranger of the same name.
    pub(crate) fn is(&self, seen: &ProviderInstance) -> bool {
        seen.key == self.id && seen.owner == self.request.owner
    }

    /// Notes that a create may have made it.
    fn doubt(&self) {
        self.doubtful.store(true, Ordering::Release);
    }

    fn is_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Acquire)
    }

    /// Its row as another writer left it, with the address that this holds;
    /// gone where there is none any more.
    fn stands_as(&self, row: Option<(InstanceRow, Option<Address>)>) {
        let mut known = self.known();
        match row {
            Some((row, address)) => (known.row, known.address) = (row, address),
            None => known.row.state = InstanceState::Gone,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The rest of an instance's driver.
pub(crate) struct Rest<'a>(&'a Instance);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        let working = Moment::ORIGIN.nanos();
        self.0.rests_until.store(working, Ordering::Release);
    }
}
