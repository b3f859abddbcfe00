use async_trait::async_trait;
use thermocline_policy::Tier;
use thermocline_provider::{
    Capabilities, Deletion, InstancePage, InstanceRequest, Offer, OfferQuery, Provider,
    ProviderError, ProviderErrorKind, ProviderInstance,
};
use thermocline_wire::provider::PROTOCOL;

use super::faults::error;
use super::state::{Created, State};
use super::{Call, CallSeen, FakeProvider, Fault};

#[async_trait]
impl Provider for FakeProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let fault = self.enter(Call::Capabilities, "").await?;
        answer(
            fault,
            Capabilities {
                protocol: PROTOCOL,
                name: "fake".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                tiers: Tier::CREATED.to_vec(),
                prices: true,
            },
        )
    }

    async fn offers(&self, query: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        let fault = self.enter(Call::Offers, "").await?;
        answer(fault, self.0.state.read().offers.matching(query))
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
        let created = self.0.state.change(|state| state.create(key, request))?;
        let said = match created {
            Created::Known(said) => said,
            Created::New(said) => self.boot(&said.id).unwrap_or(said),
        };
        answer(fault, said)
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        let fault = self.enter(Call::Get, id).await?;
        let found = self.0.state.change(|state| {
            let seen = state.find_mut(id).filter(|_| fault != Some(Fault::Blind))?;
            seen.shows_to(Call::Get).then(|| seen.said.clone())
        });
        answer(fault, found)
    }

    async fn list(&self, owner: &str, cursor: Option<&str>) -> Result<InstancePage, ProviderError> {
        let fault = self.enter(Call::List, owner).await?;
        let page = self.0.state.change(|state| page(state, owner, cursor));
        match fault {
            Some(Fault::Blind) => Ok(nothing(true)),
            Some(Fault::Incomplete) => Ok(nothing(false)),
            fault => answer(fault, page),
        }
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let fault = self.enter(Call::Delete, id).await?;
        let deletion = match fault {
            Some(Fault::Blind) => Deletion::Unknown,
            _ => self.stop(id).await,
        };
        answer(fault, deletion)
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
        for latch in held {
            latch.opened().await;
        }
        match self.0.state.change(|state| state.faults.strike(call)) {
            Some(Fault::Refused(kind)) => Err(error(kind)),
            fault => Ok(fault),
        }
    }
}

/// `answer`, unless the reply is lost.
fn answer<T>(fault: Option<Fault>, answer: T) -> Result<T, ProviderError> {
    match fault {
        Some(Fault::LostReply(kind)) => Err(error(kind)),
        _ => Ok(answer),
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

fn nothing(complete: bool) -> InstancePage {
    InstancePage {
        instances: Vec::new(),
        next: None,
        complete,
    }
}
