use std::collections::{BTreeMap, HashMap};

use thermocline_policy::{Moment, Tier};
use thermocline_provider::{
    InstanceRequest, ProviderError, ProviderErrorKind, ProviderInstance, ProviderState,
};
use tokio_util::sync::CancellationToken;

use super::amiss::STRANGER;
use super::faults::{Faults, error};
use super::instance::Instance;
use super::offers::Offers;
use super::paper::Paper;
use super::switches::{FaultKind, Switches, YOUNG};
use super::{Boot, Call, Truth};
use crate::backend::{FakeBackend, Latch};

/// Everything that a provider keeps.
#[derive(Debug)]
pub(super) struct State {
    pub(super) instances: Vec<Instance>,
    /// The truth without its live instances.
    pub(super) counted: Truth,
    pub(super) backends: Vec<FakeBackend>,
    pub(super) boots: HashMap<Tier, Boot>,
    pub(super) capacity: usize,
    pub(super) page_size: usize,
    pub(super) offers: Offers,
    /// What every instance costs, whatever the offers say.
    pub(super) price: Option<f64>,
    pub(super) faults: Faults,
    pub(super) stopping: Option<Latch>,
    /// What the addresses of instances carry that are made from now on.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) switches: Switches,
    pub(super) paper: Paper,
    /// Whether instances have lifetimes.
    pub(super) lifetimes: bool,
    released: HashMap<String, Latch>,
}

impl Default for State {
    fn default() -> Self {
        State {
            instances: Vec::new(),
            counted: Truth::default(),
            backends: Vec::new(),
            boots: HashMap::new(),
            capacity: usize::MAX,
            page_size: 100,
            offers: Offers::usual(),
            price: None,
            faults: Faults::default(),
            stopping: None,
            headers: BTreeMap::new(),
            switches: Switches::default(),
            paper: Paper::default(),
            lifetimes: false,
            released: HashMap::new(),
        }
    }
}

/// What becomes of an instance that is to be deleted.
pub(super) enum Stop {
    Unknown,
    Underway,
    Gone(Box<Instance>),
    Slowly(Latch),
}

/// What a create found.
pub(super) enum Created {
    New(ProviderInstance),
    Known(ProviderInstance),
}

impl State {
    pub(super) fn truth(&self) -> Truth {
        let live = self.instances.iter().map(|it| it.said.clone());
        Truth {
            live: live.collect(),
            ..self.counted.clone()
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<&Instance> {
        self.instances.iter().find(|it| it.said.id == id)
    }

    pub(super) fn find_mut(&mut self, id: &str) -> Option<&mut Instance> {
        self.instances.iter_mut().find(|it| it.said.id == id)
    }

    /// What the test opens to let `key` become ready.
    pub(super) fn released(&mut self, key: &str) -> Latch {
        self.released.entry(key.to_owned()).or_default().clone()
    }

    /// How the instance boots.
    pub(super) fn boot_of(&self, id: &str) -> Option<Boot> {
        if self.switches.is_on(FaultKind::NeverReady) {
            return Some(Boot::Never);
        }
        let tier = self.find(id)?.request.tier;
        Some(self.boots.get(&tier).cloned().unwrap_or(Boot::AtOnce))
    }

    /// What says that the instance ended, and that the test releases it.
    pub(super) fn signals(&mut self, id: &str) -> Option<(CancellationToken, Latch)> {
        let instance = self.find(id)?;
        let (key, ended) = (instance.said.key.clone(), instance.ended.clone());
        Some((ended, self.released(&key)))
    }

    /// Makes a starting instance ready with `backend`.
    pub(super) fn attach(&mut self, id: &str, backend: FakeBackend) {
        let starts = |it: &&mut Instance| !it.ended.is_cancelled();
        if let Some(instance) = self.find_mut(id).filter(starts) {
            instance.become_ready(backend.url());
            instance.backend = Some(backend.clone());
            self.backends.push(backend);
        }
    }

    /// The instance `key`, made where there is none.
    pub(super) fn create(
        &mut self,
        key: &str,
        request: &InstanceRequest,
        now: Moment,
    ) -> Result<Created, ProviderError> {
        let same = |it: &&Instance| it.said.key == key && it.said.owner == request.owner;
        if let Some(known) = self.instances.iter().find(same) {
            return Ok(Created::Known(known.said.clone()));
        }
        if self.instances.len() >= self.capacity {
            return Err(error(ProviderErrorKind::NoCapacity));
        }
        self.counted.created += 1;
        let id = format!("fake-{}", self.counted.created);
        let price = self.price.or_else(|| self.offers.usd_per_hour(request));
        let mut instance = Instance::starting(id, key, request, price);
        instance.headers = self.headers.clone();
        instance.made = now;
        instance.live_for(request.max_lifetime_s, now);
        instance.hidden = self.faults.blind_to_young.clone();
        let said = instance.said.clone();
        self.instances.push(instance);
        self.counted.most_live = self.counted.most_live.max(self.instances.len());
        Ok(Created::New(said))
    }

    /// A stranger's instance of the name `key`, made where there is none.
    pub(super) fn namesake(&mut self, key: &str, request: &InstanceRequest) -> ProviderInstance {
        let mut theirs = self.instances.iter().filter(|it| it.said.owner == STRANGER);
        if let Some(known) = theirs.find(|it| it.said.key == key) {
            return known.said.clone();
        }
        let id = format!("stranger-{}", self.instances.len());
        let mut instance = Instance::starting(id, key, request, None);
        instance.said.owner = STRANGER.to_owned();
        let said = instance.said.clone();
        self.instances.push(instance);
        said
    }

    /// Ends what nobody has renewed in time.
    pub(super) fn expire(&mut self, now: Moment) {
        let over = self.instances.iter().filter(|it| it.ends_at <= now);
        let over: Vec<String> = over.map(|it| it.said.id.clone()).collect();
        over.iter().for_each(|id| drop(self.remove(id)));
    }

    /// Whether the instance is too young for faults that hide such ones.
    pub(super) fn is_young(&self, id: &str, now: Moment) -> bool {
        self.find(id).is_some_and(|it| now.since(it.made) < YOUNG)
    }

    /// The instances of `owner` that a list sees.
    pub(super) fn listed(&mut self, owner: &str) -> Vec<ProviderInstance> {
        let all = self.instances.iter_mut();
        all.filter(|it| it.said.owner == owner)
            .filter_map(|it| it.shows_to(Call::List).then(|| it.said.clone()))
            .collect()
    }

    /// Begins to delete the instance.
    pub(super) fn stop(&mut self, id: &str) -> Stop {
        let slowly = self.stopping.clone().filter(|latch| !latch.is_open());
        let Some(instance) = self.find_mut(id) else {
            return Stop::Unknown;
        };
        if !instance.shows_to(Call::Delete) {
            return Stop::Unknown;
        }
        if instance.said.state == ProviderState::Stopping {
            return Stop::Underway;
        }
        if slowly.is_some() {
            instance.leave(ProviderState::Stopping, String::new());
        }
        self.counted.deleted += 1;
        match slowly {
            Some(latch) => Stop::Slowly(latch),
            None => self
                .remove(id)
                .map_or(Stop::Unknown, |gone| Stop::Gone(gone.into())),
        }
    }

    /// The instance, which does not exist any more.
    pub(super) fn remove(&mut self, id: &str) -> Option<Instance> {
        let at = self.instances.iter().position(|it| it.said.id == id)?;
        let mut gone = self.instances.remove(at);
        if let Some(address) = gone.said.address.take() {
            self.free_address(address.url);
        }
        gone.leave(ProviderState::Gone, String::new());
        Some(gone)
    }
}
