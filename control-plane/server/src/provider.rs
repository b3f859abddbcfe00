//! The providers that there are, and how they do.

mod listing;
mod paced;
mod silence;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::{Moment, Spec, Tier};
use thermocline_provider::{
    Capabilities, Deletion, Provider, ProviderError, ProviderErrorKind, ProviderInstance, list_all,
};

use listing::Listing;
pub(crate) use listing::Shrunken;
pub(crate) use paced::{Calls, Paced};
pub(crate) use silence::Silence;

use crate::secrets::Redaction;

/// The name under which the local Docker daemon is a provider.
pub(crate) const DOCKER: &str = "docker";

/// A provider by its name in the configuration.
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) adapter: Arc<Paced>,
    clock: Clock,
    listing: Mutex<Listing>,
    /// Why its last list did not tell of everything.
    unlisted: Mutex<Option<String>>,
    /// What it can do, once it has said so.
    said: Mutex<Option<Capabilities>>,
    /// Until when its sweep rests; the origin while it works.
    rests_until: AtomicU64,
}

/// How a provider has been answering.
#[derive(Debug, Clone, Default)]
pub(crate) struct Condition {
    pub(crate) last_error: Option<String>,
    /// What it said of the account's credit when it was last asked to create something.
    pub(crate) no_credit: Option<String>,
    pub(crate) rate_limited_until: Option<Moment>,
    /// Whether it has ever been asked.
    pub(crate) asked: bool,
    /// The calls since its last answer.
    silence: Option<Silence>,
}

impl Condition {
    /// `ok`, `unknown` before the first answer, `no_credit` where the account has none
    /// left, else `unavailable`.
    pub(crate) fn health(&self) -> &'static str {
        match (self.asked, &self.last_error, &self.no_credit) {
            (false, ..) => "unknown",
            (true, Some(_), _) => "unavailable",
            (true, None, Some(_)) => "no_credit",
            (true, None, None) => "ok",
        }
    }

    /// What is wrong with it, for people.
    pub(crate) fn trouble(&self) -> Option<&str> {
        let credit = || self.no_credit.as_deref();
        self.last_error.as_deref().or_else(credit)
    }

    /// Notes what a create says of the account's credit.
    fn note_credit(&mut self, created: Option<&ProviderError>) {
        match created {
            None => self.no_credit = None,
            Some(error) if error.kind == ProviderErrorKind::NoCredit => {
                self.no_credit = Some(no_credit(&error.detail));
            }
            Some(_) => {}
        }
    }

    /// Notes how a call ended that began at `began`.
    fn note(
        &mut self,
        error: Option<&ProviderError>,
        began: Moment,
        now: Moment,
        unnamed_delay: Duration,
    ) {
        self.asked = true;
        self.silence = match error.is_some_and(|error| !error.is_answer()) {
            true => Some(Silence::after(self.silence, began)),
            false => None,
        };
        let Some(error) = error else {
            self.last_error = None;
            return;
        };
        match error.kind {
            ProviderErrorKind::RateLimited(delay) => {
                self.rate_limited_until = Some(now + delay.unwrap_or(unnamed_delay));
            }
            ProviderErrorKind::Auth
            | ProviderErrorKind::Unreachable
            | ProviderErrorKind::Unanswered
            | ProviderErrorKind::Unavailable => {
                self.last_error = Some(error.to_string());
            }
            // It answered: what it refused is the request's matter.
            _ => self.last_error = None,
        }
    }
}

impl Registered {
    pub(crate) fn new(
        name: &str,
        kind: &'static str,
        adapter: Arc<dyn Provider>,
        clock: Clock,
        redaction: Redaction,
    ) -> Self {
        Registered {
            name: name.to_owned(),
            kind,
            adapter: Arc::new(Paced::new(adapter, clock.clone(), redaction)),
            clock,
            listing: Mutex::default(),
            unlisted: Mutex::default(),
            said: Mutex::default(),
            rests_until: AtomicU64::new(Moment::ORIGIN.nanos()),
        }
    }

    pub(crate) fn condition(&self) -> Condition {
        self.adapter.condition()
    }

    /// Since when it has not answered, once that is no blip.
    pub(crate) fn silent_since(&self) -> Option<Moment> {
        let silence = self.condition().silence?;
        silence.is_known(self.clock.now()).then_some(silence.since)
    }

    /// Whether its last call was not answered, and it is not known yet whether
    /// that is a blip.
    pub(crate) fn falls_silent(&self) -> bool {
        self.condition().silence.is_some() && self.silent_since().is_none()
    }

    /// The tiers that it sells, if it has said so.
    pub(crate) fn tiers(&self) -> Option<Vec<Tier>> {
        Some(self.said()?.tiers)
    }

    /// Whether its instances end by themselves when they are not renewed, if it
    /// has said so.
    pub(crate) fn has_lifetimes(&self) -> Option<bool> {
        Some(self.said()?.lifetimes)
    }

    /// Whether it says what it can never do of a request, if it has said so.
    pub(crate) fn checks(&self) -> Option<bool> {
        Some(self.said()?.checks)
    }

    /// Asks what it can do; what was known stays so where it does not answer.
    pub(crate) async fn learn(&self) {
        if let Ok(said) = self.adapter.capabilities().await {
            let mut known = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            *known = Some(said);
        }
    }

    fn said(&self) -> Option<Capabilities> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }

    /// What belongs to `owner`, and whether the list is information about what
    /// is not there: a partial one is none, nor is one that lacks what there is,
    /// but for what `is_anothers`, whose provider serves the same account.
    ///
    /// # Errors
    /// The adapter's.
    pub(crate) async fn list(
        &self,
        owner: &str,
        is_anothers: impl Fn(&ProviderInstance) -> bool,
    ) -> Result<(Vec<ProviderInstance>, bool), ProviderError> {
        let listed = list_all(self.adapter.as_ref(), owner).await;
        let (mut all, complete) = listed.inspect_err(|error| self.learn_listed(Err(error)))?;
        self.learn_listed(Ok(complete));
        all.retain(|seen| seen.owner == owner);
        let anothers = all.iter().filter(|seen| is_anothers(seen));
        let anothers = anothers.map(|seen| seen.id.clone()).collect();
        let beginnings = self.adapter.beginnings();
        let mut listing = self.listing();
        listing.begin(beginnings);
        listing.leave_to_others(&all, anothers);
        let believed = complete && listing.believes(&all, self.clock.now());
        drop(listing);
        Ok((all, believed))
    }

    fn learn_listed(&self, listed: Result<bool, &ProviderError>) {
        let told = match listed {
            Ok(true) => None,
            Ok(false) => Some("its list is not complete".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        *self.unlisted.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// Why its last list says nothing of what is not there, for people.
    pub(crate) fn why_unlisted(&self) -> Option<String> {
        let unlisted = self.unlisted.lock();
        let unlisted = unlisted.unwrap_or_else(PoisonError::into_inner).clone();
        unlisted.or_else(|| self.shrunken_text())
    }

    /// Asks for the deletion of an instance of ours.
    ///
    /// # Errors
    /// The adapter's.
    pub(crate) async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let deletion = self.adapter.delete(id).await?;
        if deletion == Deletion::Accepted {
            self.listing().expect_without(id);
        }
        Ok(deletion)
    }

    /// How its last complete list lacks what there is.
    pub(crate) fn shrunken(&self) -> Option<Shrunken> {
        self.listing().shrunken()
    }

    /// The same for people.
    pub(crate) fn shrunken_text(&self) -> Option<String> {
        let Shrunken {
            missing, before, ..
        } = self.shrunken()?;
        Some(format!(
            "it lists {missing} of {before} instances no more; \
             not believed before each is known to be gone"
        ))
    }

    /// While its lists are not believed: what they lack, and whether a look at
    /// one of these says anything yet.
    pub(crate) fn doubtful(&self) -> Option<(Vec<String>, bool)> {
        self.listing().doubtful(self.clock.now())
    }

    /// Whether its last complete list lacked `id`, believed or not, though one before
    /// had it.
    pub(crate) fn lacks(&self, id: &str) -> bool {
        self.listing().lacks(id)
    }

    /// Notes that it knows `id`, which its lists lack.
    pub(crate) fn contradicts(&self, id: &str) {
        self.listing().contradict(id);
    }

    /// Notes that `id` is known to be gone.
    pub(crate) fn is_rid_of(&self, id: &str) {
        self.listing().forget(id);
    }

    /// Its sweep rests until then; the origin while it works.
    pub(crate) fn rest_until(&self, until: Moment) {
        self.rests_until.store(until.nanos(), Ordering::Release);
    }

    /// Whether its sweep has something to do at `now`.
    pub(crate) fn is_swept(&self, now: Moment) -> bool {
        self.rests_until.load(Ordering::Acquire) <= now.nanos()
    }

    fn listing(&self) -> std::sync::MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often each call ended in which way.
    pub(crate) fn calls(&self) -> Calls {
        self.adapter.calls()
    }
}

/// What is told of an account without credit.
pub(crate) fn no_credit(detail: &str) -> String {
    format!("no credit: {detail}")
}

/// Every provider by name.
pub(crate) type Providers = BTreeMap<String, Arc<Registered>>;

/// Which provider serves `tier` of a specification.
pub(crate) fn name_for(spec: &Spec, tier: Tier) -> Option<&str> {
    match tier {
        Tier::Dedicated => None,
        Tier::Local => spec.tiers.local.as_ref().map(|_| DOCKER),
        Tier::Serverless => spec.tiers.serverless.as_ref().map(|t| t.provider.as_str()),
        Tier::Pod => spec.tiers.pod.as_ref().map(|t| t.provider.as_str()),
    }
}
