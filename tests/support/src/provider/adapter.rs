use std::time::Duration;

use async_trait::async_trait;
use thermocline_policy::Tier;
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Offer, OfferQuery, Provider,
    ProviderError, ProviderErrorKind, ProviderInstance,
};
use thermocline_wire::provider::PROTOCOL;

use super::amiss::{Answer, STRANGER};
use super::faults::error;
use super::state::{Created, State};
use super::{Call, CallSeen, FakeProvider, Fault, FaultKind};

#[async_trait]
impl Provider for FakeProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let fault = self.enter(Call::Capabilities, "").await?;
        let capabilities = Capabilities {
            protocol: PROTOCOL,
            name: "fake".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tiers: Tier::CREATED.to_vec(),
            prices: true,
            lifetimes: self.0.state.read().lifetimes,
            checks: false,
        };
        self.answer(Call::Capabilities, fault, capabilities).await
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        let fault = self.enter(Call::Offers, "").await?;
        let offers = self.0.state.read().offers.matching(query);
        self.answer(Call::Offers, fault, offers).await
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let fault = self.enter(Call::Create, key).await?;
        if request.image.is_empty() || request.port == 0 {
            return Err(error(ProviderErrorKind::Invalid));
        }
        if fault == Some(Fault::Namesake) {
            return Ok(self.0.state.change(|state| state.namesake(key, request)));
        }
        let now = self.0.clock.now();
        let created = self
            .0
            .state
            .change(|state| state.create(key, request, now))?;
        let said = match created {
            Created::Known(said) => said,
            Created::New(said) => self.boot(&said.id).unwrap_or(said),
        };
        self.answer(Call::Create, fault, said).await
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let fault = self.enter(Call::Get, id).await?;
        let found = self.0.state.change(|state| {
            let seen = state.find_mut(id).filter(|_| fault != Some(Fault::Blind))?;
            seen.shows_to(Call::Get).then(|| seen.said.clone())
        });
        let found = found.filter(|seen| !self.hides(FaultKind::UnknownYoung, &seen.id));
        self.answer(Call::Get, fault, found).await
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        let fault = self.enter(Call::List, owner).await?;
        let mut page = self.0.state.change(|state| page(state, owner, cursor));
        let shown = |seen: &ProviderInstance| !self.hides(FaultKind::UnlistedYoung, &seen.id);
        page.instances.retain(shown);
        if fault == Some(Fault::Namesake) {
            page.instances.extend(self.strangers());
        }
        self.answer(Call::List, fault, page).await
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let fault = self.enter(Call::Delete, id).await?;
        let deletion = match fault {
            Some(Fault::Blind) => Deletion::Unknown,
            Some(Fault::Deaf) if self.knows(id) => Deletion::Accepted,
            _ if self.hides(FaultKind::UndeletableYoung, id) => Deletion::Unknown,
            _ => self.stop(id).await,
        };
        self.answer(Call::Delete, fault, deletion).await
    }

    async fn renew(&self, id: &str, lifetime: Duration) -> Result<bool, ProviderError> {
        self.enter(Call::Renew, id).await?;
        let now = self.0.clock.now();
        Ok(self.0.state.change(|state| {
            let instance = state.find_mut(id);
            let renewed = instance.map(|it| it.live_for(lifetime.as_secs(), now));
            renewed.is_some()
        }))
    }
}

impl FakeProvider {
    /// Counts a call, waits while calls of its kind are held, and says how it
    /// goes wrong if it is not refused outright.
    async fn enter(&self, call: Call, subject: &str) -> Result<Option<Fault>, ProviderError> {
        let seen = CallSeen {
            call,
            subject: subject.to_owned(),
            at: self.0.clock.now(),
        };
        let held = self.0.state.change(|state| {
            state.counted.calls.push(seen);
            state.faults.holding(call)
        });
        let waiting = (!held.is_empty()).then(|| self.wait(call));
        for latch in held {
            latch.opened().await;
        }
        drop(waiting);
        let now = self.0.clock.now();
        let strike = |state: &mut State| {
            state.expire(now);
            state.ripen(now);
            state
                .faults
                .strike(call)
                .or_else(|| state.switches.strike(call))
        };
        match self.0.state.change(strike) {
            Some(Fault::Refused(kind)) => Err(error(kind)),
            fault => Ok(fault),
        }
    }

    /// `answer`, unless the reply is lost or worse.
    async fn answer<T: Answer>(
        &self,
        call: Call,
        fault: Option<Fault>,
        answer: T,
    ) -> Result<T, ProviderError> {
        match fault {
            Some(Fault::LostReply(kind)) => Err(error(kind)),
            Some(Fault::Silent(delay)) => {
                let silence = self.wait(call);
                self.0.clock.sleep(delay).await;
                drop(silence);
                Err(error(ProviderErrorKind::Unavailable))
            }
            Some(fault) => Ok(answer.amiss(fault)),
            None => Ok(answer),
        }
    }

    /// Whether a fault of the young hides the instance.
    fn hides(&self, kind: FaultKind, id: &str) -> bool {
        let now = self.0.clock.now();
        let hidden = |state: &mut State| state.is_young(id, now) && state.switches.hits(kind);
        self.0.state.change(hidden)
    }

    fn knows(&self, id: &str) -> bool {
        self.0.state.read().find(id).is_some()
    }

    fn strangers(&self) -> Vec<ProviderInstance> {
        let live = self.0.state.read().truth().live.into_iter();
        live.filter(|it| it.owner == STRANGER).collect()
    }
}

fn page(state: &mut State, owner: &str, cursor: Option<&str>) -> InstancePage {
    let from = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let listed = state.listed(owner);
    let to = listed.len().min(from + state.page_size);
    InstancePage {
        instances: listed.get(from..to).unwrap_or_default().to_vec(),
        next: (to < listed.len()).then(|| to.to_string()),
        complete: true,
    }
}
