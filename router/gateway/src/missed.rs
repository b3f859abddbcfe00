//! Instances that were missed: whether they are gone, looked for once for all who
//! want to know.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_policy::{Moment, Tier};
use thermocline_table::{Backend, Wake};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::call::Call;
use crate::gateway::Gateway;
use crate::inbound::Inbound;
use crate::refusal::Refusal;

/// How long a request waits for a look at most.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the provider's first word may take before those whose own answer is there
/// wait for it no more.
const WORD: Duration = Duration::from_secs(1);

/// The looks that go on, and those that found an instance gone.
pub(crate) struct Looks {
    map: Mutex<HashMap<String, Look>>,
    runtime: Handle,
}

/// A look for one instance.
#[derive(Clone)]
pub(crate) struct Look {
    began: Moment,
    /// Whether it was begun for this request.
    own: bool,
    found: watch::Receiver<Found>,
}

/// What a look has found so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The provider has not said a word.
    Nothing,
    /// It says that there is no such instance, and is asked once more.
    Missing,
    There,
    Gone,
}

impl Found {
    fn is_over(&self) -> bool {
        matches!(self, Found::There | Found::Gone)
    }
}

impl Looks {
    /// None yet; they run on `runtime`.
    pub(crate) fn new(runtime: Handle) -> Self {
        Looks {
            map: Mutex::default(),
            runtime,
        }
    }

    /// The look for `instance` at `now`; where none goes on or has found it gone, begins
    /// one if `due` says so.
    fn join<F>(
        &self,
        instance: &str,
        now: Moment,
        due: impl FnOnce() -> bool,
        look: impl FnOnce(watch::Sender<Found>) -> F,
    ) -> Option<Look>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut map = self.map();
        let tells = |look: &&Look| *look.found.borrow() != Found::There;
        if let Some(look) = map.get(instance).filter(tells) {
            return Some(look.clone());
        }
        if !due() {
            return None;
        }
        // Those that have ended are no longer of use to anybody but the late.
        map.retain(|_, look| !look.found.borrow().is_over());
        let (report, found) = watch::channel(Found::Nothing);
        let joined = Look {
            began: now,
            own: false,
            found,
        };
        map.insert(instance.to_owned(), joined.clone());
        drop(map);
        self.runtime.spawn(look(report));
        Some(Look {
            own: true,
            ..joined
        })
    }

    fn map(&self) -> MutexGuard<'_, HashMap<String, Look>> {
        self.map.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Gateway {
    /// Has a paid instance looked for that was missed at `now`, once in ten seconds.
    pub(crate) fn miss(&self, backend: &Backend, now: Moment) -> Option<Look> {
        let paid = matches!(backend.tier, Tier::Serverless | Tier::Pod);
        let instance = backend.instance.as_ref().filter(|_| paid)?;
        let look = |report| look_for(self.wake.clone(), instance.clone(), report);
        self.looks.join(instance, now, || backend.misses(now), look)
    }

    /// Whether what `look` looks for is gone, as far as a request may wait for it whose
    /// answer is there if it is not: a silent provider holds up one of them alone.
    pub(crate) async fn found_gone(&self, call: &Call<'_>, look: Option<Look>) -> bool {
        let Some(mut look) = look else {
            return false;
        };
        let word_by = match look.own {
            true => Moment::NEVER,
            false => look.began + WORD,
        };
        let word = look.found.wait_for(|found| *found != Found::Nothing);
        if self
            .clock
            .timeout_at(word_by.min(self.by(call)), word)
            .await
            .is_err()
        {
            return false;
        }
        self.is_gone(call, look).await
    }

    /// The same where there is no answer, while a `body` may still come.
    ///
    /// # Errors
    /// When the client broke off.
    pub(crate) async fn found_gone_before(
        &self,
        call: &Call<'_>,
        look: Option<Look>,
        body: &mut Inbound,
    ) -> Result<bool, Refusal> {
        let Some(look) = look else {
            return Ok(false);
        };
        tokio::select! {
            biased;
            gone = self.is_gone(call, look) => Ok(gone),
            error = body.read_ahead(), if !call.checked.expects => Err(Refusal::broken_body(error)),
        }
    }

    async fn is_gone(&self, call: &Call<'_>, mut look: Look) -> bool {
        let over = look.found.wait_for(Found::is_over);
        let found = self.clock.timeout_at(self.by(call), over).await;
        let found = found.ok().and_then(Result::ok);
        found.is_some_and(|found| *found == Found::Gone)
    }

    /// Until when a request waits for a look that it meets now.
    fn by(&self, call: &Call<'_>) -> Moment {
        call.patience.whole.min(self.clock.now() + PATIENCE)
    }
}

/// Asks the provider of `instance` for it, and once more where it does not know it.
async fn look_for(wake: Arc<dyn Wake>, instance: String, report: watch::Sender<Found>) {
    let missing = wake.is_missing(&instance).await;
    if missing {
        report.send_replace(Found::Missing);
    }
    let found = match missing && wake.is_gone(&instance).await {
        true => Found::Gone,
        false => Found::There,
    };
    report.send_replace(found);
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    async fn found(look: Option<Look>) -> Option<Found> {
        let mut look = look?;
        Some(*look.found.wait_for(Found::is_over).await.unwrap())
    }

    fn looks() -> Looks {
        Looks::new(Handle::current())
    }

    fn finds(found: Found) -> impl FnOnce(watch::Sender<Found>) -> std::future::Ready<()> {
        move |report| {
            report.send_replace(found);
            std::future::ready(())
        }
    }

    const AT: Moment = Moment::ORIGIN;

    #[tokio::test]
    async fn all_who_miss_an_instance_share_one_look() {
        let looks = looks();
        let first = looks.join("a", AT, || true, finds(Found::Gone));
        let second = looks.join("a", AT, || panic!("one goes on"), |_| pending());
        assert!(first.as_ref().unwrap().own && !second.as_ref().unwrap().own);
        assert_eq!(found(first).await, Some(Found::Gone));
        assert_eq!(found(second).await, Some(Found::Gone));
        let late = looks.join("a", AT, || panic!("it is gone"), |_| pending());
        assert_eq!(found(late).await, Some(Found::Gone));
    }

    #[tokio::test]
    async fn what_was_found_there_is_looked_for_again_when_it_is_due() {
        let looks = looks();
        let first = looks.join("a", AT, || true, finds(Found::There));
        assert_eq!(found(first).await, Some(Found::There));
        assert!(looks.join("a", AT, || false, |_| pending()).is_none());
        let second = looks.join("a", AT, || true, finds(Found::Gone));
        assert_eq!(found(second).await, Some(Found::Gone));
    }
}
