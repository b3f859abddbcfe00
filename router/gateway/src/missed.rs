//! Instances that were missed: whether they are gone, looked for once for all who
//! want to know.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use thermocline_policy::{Moment, Tier};
use thermocline_table::Backend;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::call::Call;
use crate::gateway::Gateway;
use crate::inbound::Inbound;
use crate::refusal::Refusal;

/// How long a request waits for a look at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// The looks that go on, and those that found an instance gone.
pub(crate) struct Looks {
    map: Mutex<HashMap<String, Look>>,
    runtime: Handle,
}

/// What a look finds: whether the instance is gone; nothing while it goes on.
type Look = watch::Receiver<Option<bool>>;

impl Looks {
    /// None yet; they run on `runtime`.
    pub(crate) fn new(runtime: Handle) -> Self {
        Looks {
            map: Mutex::default(),
            runtime,
        }
    }

    /// The look for `instance`; where none goes on or has found it gone, begins one
    /// if `due` says so.
    fn join<F>(&self, instance: &str, due: impl FnOnce() -> bool, look: F) -> Option<Look>
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let mut map = self.map();
        let tells = |look: &Look| *look.borrow() != Some(false);
        if let Some(look) = map.get(instance).filter(|look| tells(look)) {
            return Some(look.clone());
        }
        if !due() {
            return None;
        }
        // Those that have ended are no longer of use to anybody but the late.
        map.retain(|_, look| look.borrow().is_none());
        let (report, outcome) = watch::channel(None);
        map.insert(instance.to_owned(), outcome.clone());
        drop(map);
        self.runtime
            .spawn(async move { report.send_replace(Some(look.await)) });
        Some(outcome)
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
        let (wake, id) = (self.wake.clone(), instance.clone());
        let look = async move { wake.is_gone(&id).await };
        self.looks.join(instance, || backend.misses(now), look)
    }

    /// Whether what `look` looks for is gone, as far as this request may wait for it.
    pub(crate) async fn found_gone(&self, call: &Call<'_>, look: Option<Look>) -> bool {
        let Some(mut look) = look else {
            return false;
        };
        let by = call.patience.whole.min(self.clock.now() + PATIENCE);
        let found = self.clock.timeout_at(by, look.wait_for(Option::is_some));
        let found = found.await.ok().and_then(Result::ok);
        found.is_some_and(|found| *found == Some(true))
    }

    /// The same while a `body` may still come.
    ///
    /// # Errors
    /// When the client broke off.
    pub(crate) async fn found_gone_before(
        &self,
        call: &Call<'_>,
        look: Option<Look>,
        body: &mut Inbound,
    ) -> Result<bool, Refusal> {
        tokio::select! {
            biased;
            gone = self.found_gone(call, look) => Ok(gone),
            error = body.read_ahead(), if !call.checked.expects => Err(Refusal::broken_body(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    async fn found(look: Option<Look>) -> Option<bool> {
        *look?.wait_for(Option::is_some).await.unwrap()
    }

    fn looks() -> Looks {
        Looks::new(Handle::current())
    }

    #[tokio::test]
    async fn all_who_miss_an_instance_share_one_look() {
        let looks = looks();
        let first = looks.join("a", || true, async { true });
        let second = looks.join("a", || panic!("one goes on"), pending());
        assert_eq!(
            (found(first).await, found(second).await),
            (Some(true), Some(true))
        );
        let late = looks.join("a", || panic!("it is gone"), pending());
        assert_eq!(found(late).await, Some(true));
    }

    #[tokio::test]
    async fn what_was_found_there_is_looked_for_again_when_it_is_due() {
        let looks = looks();
        let first = looks.join("a", || true, async { false });
        assert_eq!(found(first).await, Some(false));
        assert!(looks.join("a", || false, pending()).is_none());
        let second = looks.join("a", || true, async { true });
        assert_eq!(found(second).await, Some(true));
    }
}
