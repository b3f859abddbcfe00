//! Renting: one ask after the other, until one is still there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use thermocline_policy::Moment;
use thermocline_provider::cloud::Marks;
use thermocline_provider::{
    InstanceRequest, ProviderError, ProviderErrorKind as Kind, ProviderInstance, ProviderState,
};

use crate::call::{Call, Failed};
use crate::error::unavailable;
use crate::pace::Lane;
use crate::provider::VastProvider;
use crate::said::{Ask, Rented};
use crate::{ask, create};

/// The most asks that are tried for one search, and for one instance: each try
/// takes its turn among the account's creates.
const TRIES_EACH: usize = 3;
const MOST_TRIES: usize = 6;

/// An ask that was tried is left alone for so long: either we have it, or
/// somebody else does.
const LEFT_ALONE: Duration = Duration::from_secs(60);

/// The asks that were tried lately, by all creates of the account: those that
/// race would else try the same ones.
#[derive(Debug, Default)]
pub(crate) struct Tried(Mutex<HashMap<u64, Moment>>);

impl Tried {
    /// Whether the ask `id` was left alone until `now`, when it is tried.
    fn is_new(&self, id: u64, now: Moment) -> bool {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tried.retain(|_, at| now.since(*at) < LEFT_ALONE);
        match tried.contains_key(&id) {
            true => false,
            false => tried.insert(id, now).is_none(),
        }
    }
}

/// What became of one ask.
enum Try {
    Made(ProviderInstance),
    /// Somebody else has it, or it is not for us; nothing was made.
    Missed(ProviderError),
}

impl VastProvider {
    /// Rents the first ask that is still there.
    pub(crate) async fn make(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        let marks = Marks::new(key, request)?;
        let body = create::body(request, &marks, &self.settings);
        let nobody = "nobody rents out what is asked for just now";
        let (mut tries, mut refusal) = (0, ProviderError::new(Kind::NoCapacity, nobody));
        for search in ask::searches(request, &self.settings) {
            let asks = ask::find(&self.account, &search).await?;
            let is_new = |ask: &&Ask| self.tried.is_new(ask.id, self.account.clock.now());
            let asks = asks.iter().filter(is_new);
            for ask in asks.take(TRIES_EACH.min(MOST_TRIES - tries)) {
                tries += 1;
                match self.rent(ask, &body, &marks).await? {
                    Try::Made(made) => return Ok(made),
                    Try::Missed(error) => refusal = error,
                }
            }
        }
        Err(refusal)
    }

    async fn rent(&self, ask: &Ask, body: &Value, marks: &Marks) -> Result<Try, ProviderError> {
        let mut body = body.clone();
        if let Some(bid) = ask.bid(&self.settings) {
            body["price"] = bid.into();
        }
        let call = Call {
            lane: Lane::Create,
            method: Method::PUT,
            path: &["v0", "asks", &ask.id.to_string()],
            query: &[],
            body: Some(&body),
        };
        self.doubts.raise(&marks.key);
        match self.account.call::<Rented>(call).await {
            Ok(rented) => Ok(Try::Made(self.made(rented.new_contract, ask, marks))),
            Err(failed) => self.missed(failed, marks).await.map(Try::Missed),
        }
    }

    fn made(&self, id: u64, ask: &Ask, marks: &Marks) -> ProviderInstance {
        // The doubt stays until it is seen: the same create makes no second one.
        self.doubts.made(&id.to_string());
        ProviderInstance {
            id: id.to_string(),
            key: marks.key.clone(),
            owner: marks.owner.clone(),
            state: ProviderState::Starting,
            address: None,
            usd_per_hour: Some(ask.price(&self.settings)),
            detail: String::new(),
        }
    }

    /// The refusal of an ask after which another one may be tried.
    ///
    /// # Errors
    /// Where it is not sure that nothing is left, or no other ask would do.
    async fn missed(&self, failed: Failed, marks: &Marks) -> Result<ProviderError, ProviderError> {
        if let Some(id) = failed.contract {
            self.undo(id).await?;
        } else if failed.doubtful {
            return Err(failed.error);
        }
        self.doubts.settle(&marks.key);
        if failed.contract.is_none() && failed.error.kind != Kind::NoCapacity {
            return Err(failed.error);
        }
        Ok(ProviderError::new(Kind::NoCapacity, failed.error.detail))
    }

    /// Destroys what an error left behind.
    ///
    /// # Errors
    /// Where it is not gone, or nobody says so: something is known to exist,
    /// whatever the refusal of its destruction would mean of a create.
    async fn undo(&self, id: u64) -> Result<(), ProviderError> {
        let vague = |error: ProviderError| unavailable(&error.detail);
        let accepted = self.destroy(id).await.map_err(vague)?;
        match self.show(id).await.map_err(vague)? {
            None if accepted => Ok(()),
            _ => Err(unavailable("what a refused create left is not gone yet")),
        }
    }
}
