//! The truth of what exists.

mod create;
mod lifetime;
mod offers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_wire::provider::{InstancePage, ProviderInstance, ProviderState};
use tokio::sync::Notify;

use crate::entry::Entry;
use crate::faults::Faults;
use crate::settings::{LiveSettings, Settings};

/// How long an instance is seen as stopping.
const STOP_TIME: Duration = Duration::from_millis(200);
/// Instances on one page of a list.
const PAGE: usize = 100;

/// Every instance, and how the cloud behaves.
pub(crate) struct Cloud {
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<LiveSettings>,
    /// Told when the last instance went.
    pub(crate) emptied: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What ids begin with, so that none is ever used twice.
    prefix: String,
    serial: u64,
    instances: BTreeMap<String, Entry>,
    faults: Faults,
    last_use: Moment,
    /// It takes no more instances, because it is about to end.
    retired: bool,
}

/// Whether a cloud may end for want of use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It has instances.
    Held,
    /// It may not before then.
    Recent(Moment),
    /// Nobody used it; from now on nobody can.
    Retired,
}

impl Cloud {
    /// A cloud without instances, whose ids begin with `prefix`.
    pub(crate) fn new(clock: Clock, settings: Settings, prefix: String) -> Self {
        let last_use = clock.now();
        Cloud {
            clock,
            settings: Arc::new(LiveSettings::new(settings)),
            emptied: Notify::new(),
            state: Mutex::new(State {
                prefix,
                last_use,
                ..State::default()
            }),
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<ProviderInstance> {
        let settings = self.settings.get();
        let state = self.lock();
        let entry = state.instances.get(id)?;
        Some(entry.describe(id, &settings))
    }

    /// The page of `owner`'s instances that begins after the id `cursor`.
    pub(crate) fn page(&self, owner: &str, cursor: Option<&str>) -> InstancePage {
        let settings = self.settings.get();
        let state = self.lock();
        let after = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let mut owned = state
            .instances
            .range::<str, _>((after, Bound::Unbounded))
            .filter(|(_, entry)| entry.request.owner == owner)
            .map(|(id, entry)| entry.describe(id, &settings));
        let mut instances: Vec<_> = owned.by_ref().take(PAGE).collect();
        let more = owned.next().is_some();
        let next = instances
            .last()
            .filter(|_| more)
            .map(|last| last.id.clone());
        if state.faults.list_incomplete {
            instances = instances.into_iter().step_by(2).collect();
        }
        InstancePage {
            instances,
            next,
            complete: !state.faults.list_incomplete,
        }
    }

    /// Stops an instance; it is gone a moment later. False when it is unknown.
    pub(crate) fn delete(self: &Arc<Self>, id: &str) -> bool {
        match self.lock().instances.get_mut(id) {
            None => return false,
            Some(entry) if entry.state == ProviderState::Stopping => return true,
            Some(entry) => entry.stop(),
        }
        let (cloud, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            cloud.clock.sleep(STOP_TIME).await;
            cloud.forget(&id);
        });
        true
    }

    /// Ends an instance without a trace. False when it is unknown.
    pub(crate) fn forget(&self, id: &str) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let Some(entry) = state.instances.remove(id) else {
            return false;
        };
        entry.life.cancel();
        state.last_use = now;
        if state.instances.is_empty() {
            self.emptied.notify_one();
        }
        true
    }

    /// Notes that an instance listens at `address`.
    pub(crate) fn became_ready(&self, id: &str, address: SocketAddr) {
        if let Some(entry) = self.lock().instances.get_mut(id)
            && entry.state == ProviderState::Starting
        {
            entry.state = ProviderState::Ready;
            entry.address = Some(address);
        }
    }

    /// Notes that an instance ended by itself.
    pub(crate) fn failed(&self, id: &str, detail: String) {
        if let Some(entry) = self.lock().instances.get_mut(id)
            && entry.state != ProviderState::Stopping
        {
            entry.state = ProviderState::Failed;
            entry.address = None;
            entry.detail = detail;
            entry.life.cancel();
        }
    }

    /// Ends every instance.
    pub(crate) fn stop_all(&self) {
        let instances = std::mem::take(&mut self.lock().instances);
        instances.values().for_each(|entry| entry.life.cancel());
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Notes that somebody called.
    pub(crate) fn note_call(&self) {
        let now = self.clock.now();
        self.lock().last_use = now;
    }

    /// How long a call has to wait, for a test.
    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.lock().faults.delay_ms)
    }

    /// Retires the cloud if it has had neither instance nor call for `limit`.
    pub(crate) fn retire_after(&self, limit: Duration) -> Use {
        let now = self.clock.now();
        let mut state = self.lock();
        if !state.instances.is_empty() {
            return Use::Held;
        }
        let end = state.last_use + limit;
        if now < end {
            return Use::Recent(end);
        }
        state.retired = true;
        Use::Retired
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
