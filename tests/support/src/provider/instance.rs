use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::{Address, InstanceRequest, ProviderInstance, ProviderState};
use tokio_util::sync::CancellationToken;

use super::Call;
use crate::backend::FakeBackend;

/// An instance that exists.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) said: ProviderInstance,
    pub(super) request: InstanceRequest,
    pub(super) made: Moment,
    /// When it ends by itself, unless that is put off.
    pub(super) ends_at: Moment,
    pub(super) backend: Option<FakeBackend>,
    /// What its address carries.
    pub(super) headers: BTreeMap<String, String>,
    /// How many calls of each kind still do not see it.
    pub(super) hidden: HashMap<Call, u32>,
    /// Cancelled when it ends, whatever it is doing.
    pub(super) ended: CancellationToken,
}

impl Instance {
    /// One that is starting.
    pub(super) fn starting(
        id: String,
        key: &str,
        request: &InstanceRequest,
        usd_per_hour: Option<f64>,
    ) -> Self {
        Instance {
            said: ProviderInstance {
                id,
                key: key.to_owned(),
                owner: request.owner.clone(),
                state: ProviderState::Starting,
                address: None,
                usd_per_hour,
                detail: String::new(),
            },
            request: request.clone(),
            made: Moment::ORIGIN,
            ends_at: Moment::NEVER,
            backend: None,
            headers: BTreeMap::new(),
            hidden: HashMap::new(),
            ended: CancellationToken::new(),
        }
    }

    /// It ends so many seconds after `now`; 0 = never.
    pub(super) fn live_for(&mut self, max_lifetime_s: u64, now: Moment) {
        self.ends_at = match max_lifetime_s {
            0 => Moment::NEVER,
            seconds => now + Duration::from_secs(seconds),
        };
    }

    /// Whether `call` sees it; each call that does not uses one up.
    pub(super) fn shows_to(&mut self, call: Call) -> bool {
        match self.hidden.get_mut(&call) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        }
    }

    pub(super) fn become_ready(&mut self, url: String) {
        self.said.state = ProviderState::Ready;
        self.said.address = Some(Address {
            url,
            headers: self.headers.clone(),
            ..Address::default()
        });
    }

    /// Leaves `Ready` and `Starting` for good.
    pub(super) fn leave(&mut self, state: ProviderState, detail: String) {
        self.said.state = state;
        self.said.address = None;
        self.said.detail = detail;
        self.ended.cancel();
    }
}
