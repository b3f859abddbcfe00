use std::collections::HashMap;

use thermocline_policy::Moment;
use thermocline_provider::{InstanceRequest, ProviderInstance, ProviderState};

use super::boot::{Boot, Booted};
use super::state::{Created, State};
use super::switches::FaultKind;
use super::{Call, FakeProvider, Truth};
use crate::backend::Latch;

/// Instances without sockets: each has an address that exists on paper, and
/// what time does to it is found out when somebody looks.
#[derive(Debug, Default)]
pub(super) struct Paper {
    /// The boots under way, by id: since when, and how.
    booting: HashMap<String, (Moment, Boot)>,
    /// Those on their way down, by id.
    stopping: HashMap<String, Latch>,
    /// Addresses of instances that are gone.
    freed: Vec<String>,
    given: u32,
    /// Calls that wait.
    waiting: usize,
}

impl State {
    pub(super) fn boot_on_paper(&mut self, id: &str, boot: Boot, now: Moment) {
        self.paper.booting.insert(id.to_owned(), (now, boot));
        self.ripen(now);
    }

    pub(super) fn stop_on_paper(&mut self, id: &str, latch: Latch) {
        self.paper.stopping.insert(id.to_owned(), latch);
    }

    /// Lets what has come due by `now` happen.
    pub(super) fn ripen(&mut self, now: Moment) {
        let booting = std::mem::take(&mut self.paper.booting);
        for (id, (since, boot)) in booting {
            let released = self.find(&id).map(|it| it.said.key.clone());
            let Some(released) = released.map(|key| self.released(&key)) else {
                continue; // it is gone
            };
            match boot.come_to(since, now, &released) {
                None => drop(self.paper.booting.insert(id, (since, boot))),
                Some(Booted::Ready) => self.ready_on_paper(&id),
                Some(Booted::Exited(code)) => self.exit_on_paper(&id, code),
            }
        }
        let stopping = self.paper.stopping.iter();
        let over = stopping.filter(|(_, latch)| latch.is_open());
        let over: Vec<String> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            self.paper.stopping.remove(&id);
            self.remove(&id);
        }
    }

    fn ready_on_paper(&mut self, id: &str) {
        let reused = match self.switches.hits(FaultKind::ReusedAddress) {
            true => self.paper.freed.pop(),
            false => None,
        };
        self.paper.given += 1;
        let given = self.paper.given;
        let url = reused.unwrap_or_else(|| format!("http://instance-{given}.test:8000"));
        if let Some(instance) = self.find_mut(id).filter(|it| !it.ended.is_cancelled()) {
            instance.become_ready(url);
        }
    }

    fn exit_on_paper(&mut self, id: &str, code: i32) {
        if let Some(instance) = self.find_mut(id) {
            instance.leave(ProviderState::Failed, format!("exit code {code}"));
        }
    }

    /// Notes that nobody is at `address` any more.
    pub(super) fn free_address(&mut self, url: String) {
        self.paper.freed.push(url);
    }
}

impl FakeProvider {
    /// The status that a request to `url` is answered with on paper; `None`
    /// where nobody listens.
    pub fn answers(&self, url: &str) -> Option<u16> {
        let now = self.0.clock.now();
        let live = self.0.state.change(|state| {
            state.ripen(now);
            state.truth().live
        });
        let at = |address: &thermocline_provider::Address| address.url == url;
        let mut addresses = live.into_iter().filter_map(|it| it.address);
        addresses.any(|address| at(&address)).then_some(200)
    }

    /// Whose instance listens at `url` on paper: its key.
    pub fn who_listens(&self, url: &str) -> Option<String> {
        let live = self.truth().live.into_iter();
        let mut at = live.filter(|it| it.address.as_ref().is_some_and(|a| a.url == url));
        at.next().map(|it| it.key)
    }

    /// `percent` of a hundred calls that a fault of `kind` concerns go wrong
    /// from now on.
    pub fn switch(&self, kind: FaultKind, percent: u64) {
        self.0
            .state
            .change(|state| state.switches.set(kind, percent));
        if kind == FaultKind::Vanishes && percent > 0 {
            self.0.state.change(vanish_one);
        }
    }

    /// What decides whether a fault strikes.
    pub fn set_seed(&self, seed: u64) {
        self.0.state.change(|state| state.switches.seed(seed));
    }

    /// Makes the instance `key` exist on paper without a call: whatever is
    /// switched on, and although nobody asked for it.
    ///
    /// # Panics
    /// When the capacity is used up.
    pub fn plant(&self, key: &str, request: &InstanceRequest) -> ProviderInstance {
        let now = self.0.clock.now();
        self.0.state.change(|state| {
            let created = state.create(key, request, now).expect("capacity");
            let (Created::New(said) | Created::Known(said)) = created;
            state.boot_on_paper(&said.id, Boot::AtOnce, now);
            said
        })
    }

    /// Switches every fault off.
    pub fn heal(&self) {
        self.0.state.change(|state| state.switches.clear());
    }

    /// What is really so, with what time has done by now.
    pub fn ripe_truth(&self) -> Truth {
        let now = self.0.clock.now();
        self.0.state.change(|state| {
            state.ripen(now);
            state.truth()
        })
    }

    /// How many calls of loops wait for a latch or for time; nobody waits for offers.
    pub fn waiting(&self) -> usize {
        self.0.state.read().paper.waiting
    }

    /// Counts a call of a loop that waits, for as long as the guard lives.
    pub(super) fn wait(&self, call: Call) -> Option<Waiting> {
        if call == Call::Offers {
            return None;
        }
        self.0.state.change(|state| state.paper.waiting += 1);
        Some(Waiting(self.clone()))
    }
}

fn vanish_one(state: &mut State) {
    let ours = state
        .instances
        .iter()
        .filter(|it| it.said.owner != super::amiss::STRANGER);
    let ids: Vec<String> = ours.map(|it| it.said.id.clone()).collect();
    if ids.is_empty() {
        return;
    }
    let which = state.switches.roll(ids.len() as u64) as usize;
    state.remove(&ids[which]);
}

/// A call that waits.
pub(super) struct Waiting(FakeProvider);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.state.change(|state| state.paper.waiting -= 1);
    }
}
