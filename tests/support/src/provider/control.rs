use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use thermocline_clock::Clock;
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Offer};

use super::faults::Span;
use super::state::State;
use super::{Boot, Call, Fault, Truth};
use crate::backend::{FakeBackend, Latch, Script};
use crate::watched::Watched;

/// A provider in process; clones are the same one.
#[derive(Clone)]
pub struct FakeProvider(pub(super) Arc<Shared>);

type ScriptMaker = Box<dyn Fn(&InstanceRequest) -> Script + Send + Sync>;

pub(super) struct Shared {
    pub(super) clock: Clock,
    /// None where instances exist on paper only.
    pub(super) script: Option<ScriptMaker>,
    pub(super) state: Watched<State>,
}

impl FakeProvider {
    /// A provider without limits whose instances are ready at once and answer
    /// as `script` says for their request.
    pub fn new(
        clock: &Clock,
        script: impl Fn(&InstanceRequest) -> Script + Send + Sync + 'static,
    ) -> Self {
        FakeProvider(Arc::new(Shared {
            clock: clock.clone(),
            script: Some(Box::new(script)),
            state: Watched::new(State::default()),
        }))
    }

    /// One whose instances have no sockets: what listens where is asked of
    /// [`FakeProvider::answers`], and nothing of it runs between two calls.
    pub fn on_paper(clock: &Clock) -> Self {
        FakeProvider(Arc::new(Shared {
            clock: clock.clone(),
            script: None,
            state: Watched::new(State::default()),
        }))
    }

    /// What is really so.
    pub fn truth(&self) -> Truth {
        let now = self.0.clock.now();
        if self.0.state.read().lifetimes {
            self.0.state.change(|state| state.expire(now));
        }
        self.0.state.read().truth()
    }

    /// Instances made from now on end by themselves when they are not renewed.
    pub fn limit_lifetimes(&self) {
        self.0.state.change(|state| state.lifetimes = true);
    }

    /// Waits until `wanted` holds of the truth, and returns that.
    ///
    /// # Panics
    /// When it does not hold after 30 s of real time.
    pub async fn wait_for(&self, wanted: impl Fn(&Truth) -> bool) -> Truth {
        let look = || Some(self.truth()).filter(&wanted);
        let truth = self.0.state.until(look).await;
        truth.unwrap_or_else(|| panic!("never true at the provider: {:#?}", self.truth()))
    }

    /// Every backend that was ever started, those that are gone too, in order.
    pub fn backends(&self) -> Vec<FakeBackend> {
        self.0.state.read().backends.clone()
    }

    /// The backend of a live instance, once it has one.
    pub fn backend(&self, id: &str) -> Option<FakeBackend> {
        self.0.state.read().find(id)?.backend.clone()
    }

    /// How instances of every tier boot that are made from now on.
    pub fn set_boot(&self, boot: Boot) {
        let change =
            |state: &mut State| state.boots = HashMap::from(Tier::ALL.map(|t| (t, boot.clone())));
        self.0.state.change(change);
    }

    /// How instances of `tier` boot that are made from now on.
    pub fn set_boot_of(&self, tier: Tier, boot: Boot) {
        self.0.state.change(|state| state.boots.insert(tier, boot));
    }

    /// Lets the instance `key` become ready whose boot is
    /// [`Boot::WhenReleased`]; it need not exist yet.
    pub fn release_ready(&self, key: &str) {
        self.0.state.change(|state| state.released(key)).open();
    }

    /// How many instances may exist; a create beyond is `no_capacity`.
    pub fn set_capacity(&self, instances: usize) {
        self.0.state.change(|state| state.capacity = instances);
    }

    /// What is for sale in `tier`.
    pub fn set_offers(&self, tier: Tier, offers: Vec<Offer>) {
        self.0.state.change(|state| state.offers.set(tier, offers));
    }

    /// What every instance costs from now on, whatever the offers say.
    pub fn set_price(&self, usd_per_hour: f64) {
        self.0.state.change(|state| {
            state.price = Some(usd_per_hour);
            for instance in &mut state.instances {
                instance.said.usd_per_hour = state.price;
            }
        });
    }

    /// The instance is ready at `url`, wherever it was.
    pub fn readdress(&self, id: &str, url: &str) {
        self.0.state.change(|state| {
            if let Some(instance) = state.find_mut(id) {
                instance.become_ready(url.to_owned());
            }
        });
    }

    /// How many instances one page of a list holds.
    pub fn set_page_size(&self, instances: usize) {
        self.0
            .state
            .change(|state| state.page_size = instances.max(1));
    }

    /// The next `times` of `call` go wrong.
    pub fn fail_next(&self, call: Call, times: u32, fault: Fault) {
        self.plan(call, fault, Span::Next(times));
    }

    /// Every `call` goes wrong until `latch` opens.
    pub fn fail_until(&self, call: Call, latch: &Latch, fault: Fault) {
        self.plan(call, fault, Span::Until(latch.clone()));
    }

    /// Every `call` waits until `latch` opens before it does anything.
    pub fn hold(&self, call: Call, latch: &Latch) {
        let latch = latch.clone();
        self.0.state.change(|state| state.faults.hold(call, latch));
    }

    /// Each instance made from now on is not seen by the first `times` of
    /// `call` that would have: a get or delete of it, any list.
    pub fn hide_young_from(&self, call: Call, times: u32) {
        let hide = |state: &mut State| state.faults.blind_to_young.insert(call, times);
        self.0.state.change(hide);
    }

    /// The addresses of instances that are made from now on carry a header.
    pub fn set_header(&self, name: &str, value: &str) {
        let header = (name.to_owned(), value.to_owned());
        self.0.state.change(|state| state.headers.extend([header]));
    }

    /// Deleted instances are `stopping` until `latch` opens.
    pub fn stop_slowly(&self, latch: &Latch) {
        self.0
            .state
            .change(|state| state.stopping = Some(latch.clone()));
    }

    fn plan(&self, call: Call, fault: Fault, span: Span) {
        let plan = |state: &mut State| state.faults.plan(call, fault, span);
        self.0.state.change(plan);
    }
}

impl fmt::Debug for FakeProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FakeProvider").field(&self.truth()).finish()
    }
}
