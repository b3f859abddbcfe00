//! One deployment under control: its row, its instances, what is asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use thermocline_policy::{Moment, Reason, Spec, Tier, TierMap};
use thermocline_store::DeploymentRow;
use thermocline_table::{Backend, Deployment, StartFailed, Wish};
use tokio::sync::watch;

use crate::back_off::BackOff;
use crate::books::Books;
use crate::budget::{Braking, News, Spent};
use crate::edit::Unchecked;
use crate::instance::Instance;
use crate::pass::Marks;
use crate::series::Series;

/// One deployment under control.
pub(crate) struct Controlled {
    /// What the request plane sees of it.
    pub(crate) live: Arc<Deployment>,
    /// Held by the one pass at a time.
    pub(crate) passing: tokio::sync::Mutex<Marks>,
    /// Held while its capacity is read and put in force, so that no older
    /// reading ever replaces a newer one.
    pub(crate) publishing: Mutex<()>,
    /// Whether a pass is asked for that has not begun.
    pub(crate) nudged: AtomicBool,
    /// How it has been.
    pub(crate) series: Series,
    /// What it costs.
    pub(crate) books: Books,
    state: Mutex<State>,
    version: watch::Sender<u64>,
}

struct State {
    row: DeploymentRow,
    instances: BTreeMap<String, Arc<Instance>>,
    requested: TierMap<Vec<Arc<Wish>>>,
    back_offs: TierMap<Option<BackOff>>,
    /// Whether a start vanished since the last that succeeded.
    vanished: TierMap<bool>,
    dedicated: Option<Arc<Backend>>,
    last_error: Option<String>,
    unchecked: Unchecked,
    refusal: Option<(Tier, Reason)>,
    idle_stop: Option<IdleStop>,
    braking: Braking,
    brakes_told: TierMap<News>,
}

/// The last instances of a tier stopped for want of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdleStop {
    pub(crate) tier: Tier,
    /// Microseconds since 1970, UTC.
    pub(crate) at: i64,
    /// How many arrivals had been counted then.
    pub(crate) arrivals: u64,
}

impl Controlled {
    pub(crate) fn new(live: Arc<Deployment>, row: DeploymentRow, this_hour: Arc<Spent>) -> Self {
        let now = live.clock().now();
        let books = Books::new(&live.config.load().settings, now, this_hour);
        Controlled {
            live,
            passing: tokio::sync::Mutex::default(),
            publishing: Mutex::new(()),
            nudged: AtomicBool::new(false),
            series: Series::default(),
            books,
            state: Mutex::new(State {
                row,
                instances: BTreeMap::new(),
                requested: TierMap::default(),
                back_offs: TierMap::default(),
                vanished: TierMap::default(),
                dedicated: None,
                last_error: None,
                unchecked: Unchecked::new(),
                refusal: None,
                idle_stop: None,
                braking: Braking::default(),
                brakes_told: TierMap::default(),
            }),
            version: watch::Sender::new(0),
        }
    }

    /// Its row as last written.
    pub(crate) fn row(&self) -> DeploymentRow {
        self.state().row.clone()
    }

    /// Takes over a row just written; a new generation forgets old failures.
    pub(crate) fn set_row(&self, row: DeploymentRow) {
        let mut state = self.state();
        if state.row.generation != row.generation {
            state.back_offs = TierMap::default();
            state.vanished = TierMap::default();
        }
        state.row = row;
    }

    /// Notes the tier that is written down.
    pub(crate) fn set_saved_tier(&self, tier: Option<Tier>) {
        self.state().row.tier = tier;
    }

    /// The specification in force.
    pub(crate) fn with_spec<T>(&self, read: impl FnOnce(&Spec) -> T) -> T {
        read(&self.live.config.load().spec)
    }

    /// Its instances, oldest first.
    pub(crate) fn instances(&self) -> Vec<Arc<Instance>> {
        self.state().instances.values().cloned().collect()
    }

    /// Whether nothing of it exists, or is about to.
    pub(crate) fn has_no_instances(&self) -> bool {
        self.state().instances.is_empty()
    }

    pub(crate) fn add_instance(&self, instance: Arc<Instance>) {
        self.state().instances.insert(instance.id.clone(), instance);
        self.bump();
    }

    pub(crate) fn remove_instance(&self, id: &str) {
        self.state().instances.remove(id);
        self.bump();
    }

    /// Whether nothing is there and nothing is asked for: a pass has nothing to do.
    pub(crate) fn is_at_rest(&self) -> bool {
        let state = self.state();
        state.instances.is_empty()
            && Tier::ALL
                .into_iter()
                .all(|tier| state.requested[tier].is_empty() && state.back_offs[tier].is_none())
            && !state.row.deleting
    }

    /// Asks for `tier` until the guard is dropped, or `wish` is given up.
    pub(crate) fn request(self: &Arc<Self>, tier: Tier, wish: &Arc<Wish>) -> Requested {
        self.state().requested[tier].push(wish.clone());
        Requested(self.clone(), tier, wish.clone())
    }

    pub(crate) fn is_requested(&self, tier: Tier) -> bool {
        let state = self.state();
        state.requested[tier].iter().any(|wish| !wish.is_given_up())
    }

    /// Notes a failed start; to be published before those who wait are told.
    pub(crate) fn note_failure(&self, tier: Tier, error: StartFailed, now: Moment) {
        let mut state = self.state();
        state.back_offs[tier] = Some(BackOff::after(state.back_offs[tier].as_ref(), error, now));
    }

    /// Notes a start that succeeded.
    pub(crate) fn started(&self, tier: Tier) {
        let mut state = self.state();
        (state.back_offs[tier], state.vanished[tier]) = (None, false);
        drop(state);
        self.bump();
    }

    /// A start of `tier` vanished: whether that is no failure, and another is begun for
    /// those who wait; once, until one succeeds.
    pub(crate) fn begins_anew(&self, tier: Tier) -> bool {
        !std::mem::replace(&mut self.state().vanished[tier], true)
    }

    /// Forgets the failures of `tiers` that had this code: they may be tried now.
    pub(crate) fn forget_failures(&self, tiers: &[Tier], code: &str) {
        let mut state = self.state();
        for tier in tiers {
            let failed = state.back_offs[*tier].as_ref();
            if failed.is_some_and(|back_off| back_off.error.code == code) {
                state.back_offs[*tier] = None;
            }
        }
    }

    /// Why `tier` is not to be started at `now`.
    pub(crate) fn backing_off(&self, tier: Tier, now: Moment) -> Option<StartFailed> {
        let state = self.state();
        let back_off = state.back_offs[tier].as_ref().filter(|b| b.until > now)?;
        Some(back_off.refusal(now))
    }

    /// The last start's error of any tier, also after its back-off.
    pub(crate) fn last_failure(&self) -> Option<StartFailed> {
        let state = self.state();
        let failures = state.back_offs.iter().filter_map(|(_, b)| b.as_ref());
        failures.max_by_key(|b| b.until).map(|b| b.error.clone())
    }

    /// The last start's error of `tier`, also after its back-off.
    pub(crate) fn failure(&self, tier: Tier) -> Option<StartFailed> {
        let state = self.state();
        state.back_offs[tier].as_ref().map(|b| b.error.clone())
    }

    /// Whether the last start of `tier` failed, also after its back-off.
    pub(crate) fn has_failed(&self, tier: Tier) -> bool {
        self.state().back_offs[tier].is_some()
    }

    /// The backend of the user's own instance.
    pub(crate) fn dedicated(&self) -> Option<Arc<Backend>> {
        self.state().dedicated.clone()
    }

    pub(crate) fn set_dedicated(&self, backend: Option<Arc<Backend>>) {
        self.state().dedicated = backend;
    }

    /// Notes the transition that is refused now; whether that is news.
    pub(crate) fn refusal_changed(&self, refusal: Option<(Tier, Reason)>) -> bool {
        std::mem::replace(&mut self.state().refusal, refusal) != refusal
    }

    /// Notes that its last instances stopped for want of work, or that another
    /// is wanted.
    pub(crate) fn set_idle_stop(&self, stop: Option<IdleStop>) {
        self.state().idle_stop = stop;
    }

    /// The idle stop since which nothing has come and nothing was started.
    pub(crate) fn idle_stop(&self) -> Option<IdleStop> {
        let stop = self.state().idle_stop?;
        (self.live.arrivals() == stop.arrivals).then_some(stop)
    }

    /// What budgets forbid it, and why.
    pub(crate) fn braking(&self) -> Braking {
        self.state().braking
    }

    /// Notes what budgets forbid it.
    pub(crate) fn set_braking(&self, braking: Braking) {
        self.state().braking = braking;
    }

    /// Whether what they forbid `tier` is to be told at `now`.
    pub(crate) fn brake_is_news(&self, tier: Tier, now: Moment) -> bool {
        let mut state = self.state();
        let brake = state.braking.brakes[tier];
        state.brakes_told[tier].is_told(brake, now)
    }

    /// What keeps it from being torn down.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.state().last_error.clone()
    }

    pub(crate) fn set_last_error(&self, error: Option<String>) {
        self.state().last_error = error;
    }

    /// What of its specification no catalogue has confirmed.
    pub(crate) fn unchecked(&self) -> Unchecked {
        self.state().unchecked.clone()
    }

    pub(crate) fn set_unchecked(&self, unchecked: Unchecked) {
        self.state().unchecked = unchecked;
    }

    /// Tells those who watch that something changed.
    pub(crate) fn bump(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Watches for changes from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        let mut receiver = self.version.subscribe();
        receiver.mark_unchanged();
        receiver
    }

    /// Whether the caller is the first to ask for a pass.
    pub(crate) fn nudge(&self) -> bool {
        !self.nudged.swap(true, Ordering::AcqRel)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A tier that is asked for; no more once dropped.
pub(crate) struct Requested(Arc<Controlled>, Tier, Arc<Wish>);

impl Drop for Requested {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let wishes = &mut state.requested[self.1];
        if let Some(at) = wishes.iter().position(|wish| Arc::ptr_eq(wish, &self.2)) {
            wishes.swap_remove(at);
        }
    }
}
