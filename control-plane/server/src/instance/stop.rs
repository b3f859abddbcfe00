use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{InstanceEvent, InstanceState, Moment};
use thermocline_provider::{Deletion, Provider, ProviderError, ProviderErrorKind};
use thermocline_store::InstanceChanges;

use super::create::price;
use super::{Instance, VISIBLE_WITHIN};
use crate::control::ControlPlane;
use crate::deployment::Controlled;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Between two looks while the provider answers.
const LONGEST_LOOK: Duration = Duration::from_secs(2);
/// The same where it does not know the instance, and its lists prove nothing: whoever
/// is there and paid for needs the account's calls more.
const LONGEST_UNTOLD: Duration = Duration::from_secs(30);
/// Between two attempts while it refuses.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Complete lists without it, in a row, that confirm an absence.
const LISTS: u32 = 2;
/// The same where a create was never answered, so that lists are all there is to go by.
const SEARCHES: u32 = 3;

/// How far a deletion is.
struct Effort {
    began: Moment,
    /// Looks that have to find nothing.
    needed: u32,
    /// Looks in a row that did not find it.
    absences: u32,
    /// Whether the last answer told neither that it is there nor that it is not.
    untold: bool,
    /// Refusals since the last answer.
    failures: u32,
    pause: Duration,
    /// For how long the provider asked to be left alone with its last refusal.
    put_off: Option<Duration>,
    /// Whether the provider has ever taken the deletion for one of a thing it
    /// knows: a young instance may be unknown to it although it exists.
    accepted: bool,
}

impl Effort {
    fn beginning(now: Moment, is_known: bool) -> Self {
        Effort {
            began: now,
            needed: if is_known { LISTS } else { SEARCHES },
            absences: 0,
            untold: false,
            failures: 0,
            pause: FIRST_PAUSE,
            put_off: None,
            accepted: false,
        }
    }

    fn answered(&mut self, look: &Look) {
        let absent = matches!(look, Look::Absent);
        self.absences = if absent { self.absences + 1 } else { 0 };
        self.untold = matches!(look, Look::Untold);
        // The first absence is confirmed soon, however long the wait for it was.
        if self.failures > 0 || self.absences == 1 {
            (self.failures, self.pause) = (0, FIRST_PAUSE);
        }
    }

    fn refused(&mut self, error: &ProviderError) {
        self.failures += 1;
        match error.kind {
            // Who is called too often says nothing of the instance, and when to come back.
            ProviderErrorKind::RateLimited(Some(delay)) => {
                self.put_off = Some(delay.clamp(FIRST_PAUSE, LONGEST_UNTOLD));
            }
            _ => self.absences = 0,
        }
    }

    fn proves_absence(&self, instance: &Instance, now: Moment) -> bool {
        let accepted = self.accepted && instance.is_visible(now);
        let visible = accepted || now.since(self.began) >= VISIBLE_WITHIN;
        visible && self.absences >= self.needed
    }

    /// The pause before the next look; longer each time.
    fn next_pause(&mut self) -> Duration {
        if let Some(delay) = self.put_off.take() {
            return delay;
        }
        let longest = match (self.failures, self.untold) {
            (0, false) => LONGEST_LOOK,
            (0, true) => LONGEST_UNTOLD,
            _ => LONGEST_PAUSE,
        };
        let pause = self.pause.min(longest);
        self.pause = (pause * 2).min(longest);
        pause
    }
}

impl ControlPlane {
    /// Deletes it until its absence is confirmed. Never given up.
    pub(super) async fn make_absent(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
        provider_id: Option<String>,
    ) {
        let mut effort = Effort::beginning(self.clock.now(), provider_id.is_some());
        let stopping = || matches!(instance.state(), InstanceState::Stopping { .. });
        while stopping() && !self.drain.is_cancelled() {
            let step = match &provider_id {
                Some(id) => self.delete_step(instance, id, &mut effort).await,
                None => self.search_step(deployment, instance).await,
            };
            match step {
                Ok(Look::Found) => return,
                Ok(look) => {
                    effort.answered(&look);
                    deployment.set_last_error(why_untold(instance, &look));
                }
                Err(error) => {
                    effort.refused(&error);
                    self.tell_refusal(deployment, instance, &error, effort.failures);
                }
            }
            if effort.proves_absence(instance, self.clock.now()) {
                return self.confirmed_absent(deployment, instance).await;
            }
            let until = self.clock.now() + effort.next_pause();
            let _rest = instance.rest(until);
            tokio::select! {
                () = self.clock.sleep_until(until) => {}
                () = instance.nudge.notified() => {}
                () = self.drain.cancelled() => {}
            }
        }
    }

    /// Asks for the deletion, and looks whether it is there.
    async fn delete_step(
        &self,
        instance: &Instance,
        id: &str,
        effort: &mut Effort,
    ) -> Result<Look, ProviderError> {
        let adapter = &instance.provider.adapter;
        effort.accepted |= instance.provider.delete(id).await? == Deletion::Accepted;
        if adapter
            .get(id)
            .await?
            .is_some_and(|seen| instance.is(&seen))
        {
            instance.seen();
            instance.set_unknown(false);
            return Ok(Look::There);
        }
        let (all, complete) = self.list(&instance.provider).await?;
        Ok(match all.iter().any(|seen| seen.id == id) {
            true => Look::There,
            false if complete => Look::Absent,
            false => Look::Untold,
        })
    }

    /// Looks for an instance whose create was never answered.
    async fn search_step(
        self: &Arc<Self>,
        deployment: &Arc<Controlled>,
        instance: &Arc<Instance>,
    ) -> Result<Look, ProviderError> {
        let (all, complete) = self.list(&instance.provider).await?;
        let Some(found) = all.into_iter().find(|seen| instance.is(seen)) else {
            return Ok(if complete { Look::Absent } else { Look::Untold });
        };
        let changes = InstanceChanges {
            usd_per_hour: price(found.usd_per_hour),
            ..InstanceChanges::default()
        };
        let event = InstanceEvent::Created {
            provider_id: found.id,
        };
        match self.advance(deployment, instance, event, changes).await {
            true => Ok(Look::Found),
            false => Ok(Look::There),
        }
    }

    fn tell_refusal(
        &self,
        deployment: &Controlled,
        instance: &Instance,
        error: &ProviderError,
        failures: u32,
    ) {
        let provider = &instance.provider;
        let why = match self.silent_since(provider) {
            Some(since) => format!("which has not answered since {since}"),
            None => error.to_string(),
        };
        let waits = format!("waits for provider {}: {why}", provider.name);
        deployment.set_last_error(Some(waits));
        if failures.is_power_of_two() {
            let text = format!("a delete failed ({failures}): {error}");
            self.tell_instance(deployment, instance, "delete_failed", &text);
        }
    }
}

/// Why a look says nothing of its absence.
fn why_untold(instance: &Instance, look: &Look) -> Option<String> {
    let provider = &instance.provider;
    let why = provider
        .why_unlisted()
        .filter(|_| matches!(look, Look::Untold))?;
    Some(format!("waits for provider {}: {why}", provider.name))
}

/// What a step towards absence found.
enum Look {
    There,
    Absent,
    /// It was not found, in a list that does not tell of everything.
    Untold,
    /// Its id is known now.
    Found,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_is_waited_out_and_undoes_no_absence() {
        let mut effort = Effort::beginning(Moment::ORIGIN, true);
        effort.answered(&Look::Absent);
        let limited = |seconds| {
            let kind = ProviderErrorKind::RateLimited(Some(Duration::from_secs(seconds)));
            ProviderError::new(kind, "too frequent")
        };
        for seconds in [3, 3, 3, 3, 3, 3, 3, 3] {
            effort.refused(&limited(seconds));
            assert_eq!(effort.next_pause(), Duration::from_secs(3));
        }
        effort.refused(&limited(3_600));
        assert_eq!(effort.next_pause(), LONGEST_UNTOLD);
        effort.answered(&Look::Absent);
        assert_eq!((effort.absences, effort.failures), (2, 0));
        let broken = ProviderError::new(ProviderErrorKind::Unanswered, "");
        effort.refused(&broken);
        assert_eq!(effort.absences, 0);
    }
}
