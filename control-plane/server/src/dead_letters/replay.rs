//! Running dead letters once more, at a limited rate, and throwing them away.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use thermocline_policy::fleet::Bucket;
use thermocline_provider::ProviderError;
use thermocline_provider::fleet::{ParkedRequest, Replayed, SharedFleet};
use thermocline_store::{DeadLetterFilter, DeadLetterRow, DeadLetterState, Result};
use tokio::sync::mpsc;

use super::Refused;
use super::admission::Kept;
use super::archive::PAUSE;
use super::head::Head;
use super::refusal::why_not;
use crate::control::ControlPlane;

/// What is said where the key of the secrets does not open a request.
const NOT_OPENED: &str =
    "a secret stands in its path or its headers, and the key of the secrets does not open it";

/// What is archived of a letter's request.
enum Archived {
    /// All of it, and how long it may take.
    Whole(ParkedRequest, Duration),
    /// Its payload, or its head, is gone.
    NotKept,
    /// A secret in it cannot be had any more.
    NotOpened,
}

impl ControlPlane {
    /// Puts a letter among those that are replayed, and says how it stands then.
    ///
    /// # Errors
    /// [`Refused`], and nothing is changed.
    pub(crate) async fn replay_letter(&self, id: &str) -> Result<DeadLetterRow, Refused> {
        let row = self.letter(id).await?;
        runs(&**self.fleet()?, &row.deployment)?;
        if !self
            .store
            .begin_replay(id, self.clock.wall_micros())
            .await?
        {
            return Err(refused(&self.letter(id).await?));
        }
        self.await_turn(id);
        self.letter(id).await
    }

    /// Puts all letters of `fingerprint` that may be replayed there; how many,
    /// and how many are left as they are.
    ///
    /// # Errors
    /// [`Refused`] when there is none that may be, and nothing is changed.
    pub(crate) async fn replay_group(&self, fingerprint: &str) -> Result<(u32, u32), Refused> {
        let filter = DeadLetterFilter {
            fingerprint: Some(fingerprint.to_owned()),
            ..DeadLetterFilter::default()
        };
        let groups = self.store.dead_letter_groups(&filter, 1).await?;
        let group = groups.first().ok_or(Refused::NotFound)?;
        self.fleet()?;
        let now = self.clock.wall_micros();
        let begun = self.store.begin_group_replay(fingerprint, now).await?;
        if begun.is_empty() {
            let newest = self.store.dead_letters(&filter, None, 1).await?;
            return Err(newest.first().map_or(Refused::NotFound, refused));
        }
        begun.iter().for_each(|id| self.await_turn(id));
        let count = u32::try_from(begun.len()).unwrap_or(u32::MAX);
        Ok((count, group.letters.saturating_sub(count)))
    }

    /// Throws a letter's payload away; the letter stays to be counted. One that
    /// was discarded before stays as it is, and nothing is told again.
    ///
    /// # Errors
    /// [`Refused`] where there is none, or it is being replayed.
    pub(crate) async fn discard_letter(&self, id: &str) -> Result<(), Refused> {
        let row = self.letter(id).await?;
        let now = self.clock.wall_micros();
        if !self.store.discard_dead_letter(id, now).await? {
            return match self.letter(id).await?.state {
                DeadLetterState::Discarded => Ok(()),
                _ => Err(Refused::conflict("replaying", "it is being replayed")),
            };
        }
        let text = format!("the dead letter {id} was discarded");
        let body = json!({ "letter": id, "class": row.class.as_str() });
        self.events
            .tell("fleet.discarded", Some(&row.deployment), &text, body);
        Ok(())
    }

    async fn letter(&self, id: &str) -> Result<DeadLetterRow, Refused> {
        let row = self.store.dead_letter(id).await?;
        row.ok_or(Refused::NotFound)
    }

    fn fleet(&self) -> Result<&Arc<dyn SharedFleet>, Refused> {
        let none = || Refused::conflict("no_fleet", "no shared fleet is configured");
        self.fleet.as_ref().map(|it| &it.shared).ok_or_else(none)
    }

    fn await_turn(&self, id: &str) {
        // Nobody replays any more once we drain; the next start opens it again.
        let _ = self.dead_letters.turns.send(id.to_owned());
    }

    /// Replays the letters whose turn it is, until we drain.
    pub(super) async fn replay_in_turn(
        self: Arc<Self>,
        fleet: Arc<dyn SharedFleet>,
        mut turns: mpsc::UnboundedReceiver<String>,
    ) {
        let mut bucket = Bucket::new(self.dead_letters.pace(), 1);
        let replaying = async {
            while let Some(id) = turns.recv().await {
                while let Err(wait) = bucket.take(self.clock.now()) {
                    self.clock.sleep(wait).await;
                }
                let (control, fleet) = (self.clone(), fleet.clone());
                tokio::spawn(async move { control.replay_now(&*fleet, &id).await });
            }
        };
        tokio::select! {
            () = replaying => {}
            () = self.drain.cancelled() => {}
        }
    }

    async fn replay_now(&self, fleet: &dyn SharedFleet, id: &str) {
        let (state, outcome) = match self.archived_request(id).await {
            Ok(Archived::Whole(request, within)) => match runs(fleet, &request.deployment) {
                Ok(()) => self.admitted(fleet, request, within).await,
                Err(refused) => open(json!({ "result": "refused", "detail": refused.to_string() })),
            },
            Ok(Archived::NotKept) => open(json!({ "result": "not_kept" })),
            Ok(Archived::NotOpened) => open(json!({ "result": "refused", "detail": NOT_OPENED })),
            Err(error) => {
                tracing::error!(%error, "a dead letter cannot be read");
                open(json!({ "result": "not_read" }))
            }
        };
        self.end_replay(id, state, outcome).await;
    }

    /// Runs `request` once it has a place among those of its deployment.
    async fn admitted(
        &self,
        fleet: &dyn SharedFleet,
        request: ParkedRequest,
        within: Duration,
    ) -> (DeadLetterState, Value) {
        let began = self.clock.now();
        match self.admit_replay(&request.deployment, within).await {
            Ok(_place) => {
                let left = within.saturating_sub(self.clock.now().since(began));
                outcome(fleet.replay(request, left).await)
            }
            Err(Kept::Budget(detail)) => open(json!({ "result": "refused", "detail": detail })),
            Err(Kept::Full) => open(json!({ "result": "expired" })),
        }
    }

    /// The request of a letter as it was sent, without its credentials.
    async fn archived_request(&self, id: &str) -> Result<Archived> {
        let row = self.store.dead_letter(id).await?;
        let payload = self.store.dead_letter_payload(id).await?;
        let (Some(row), Some(payload)) = (row, payload) else {
            return Ok(Archived::NotKept);
        };
        let head = row.head.and_then(|head| serde_json::from_str(&head).ok());
        let Some(head): Option<Head> = head else {
            return Ok(Archived::NotKept);
        };
        let Some(head) = head.opened(id, &self.secrets) else {
            return Ok(Archived::NotOpened);
        };
        let within = self
            .deployment(&row.deployment)
            .map_or(self.defaults.deadline, |deployment| {
                deployment.live.config.load().settings.deadline
            });
        let request = ParkedRequest {
            deployment: row.deployment,
            method: head.method,
            target: head.target,
            headers: head.headers,
            payload: Bytes::from(payload),
        };
        Ok(Archived::Whole(request, within))
    }

    async fn end_replay(&self, id: &str, state: DeadLetterState, mut outcome: Value) {
        let now = self.clock.wall_micros();
        outcome["at"] = json!(thermocline_wire::rfc3339(now));
        let said = outcome.to_string();
        while let Err(error) = self.store.end_replay(id, state, &said, now).await {
            tracing::error!(%error, "the end of a replay cannot be written down");
            if self.drain.is_cancelled() {
                return; // The next start opens it again.
            }
            self.clock.sleep(PAUSE).await;
        }
        let result = outcome["result"].as_str().unwrap_or_default();
        let text = format!("the replay of {id} ended: {result}");
        let body = json!({ "letter": id, "state": state.as_str(), "outcome": outcome });
        self.events.tell("fleet.replay", None, &text, body);
    }
}

/// What has become of a letter whose replay ended so. What was neither answered
/// nor given up again is open as before: nothing else knows of it.
fn outcome(ended: Result<Replayed, ProviderError>) -> (DeadLetterState, Value) {
    use DeadLetterState::Replayed as Done;
    match ended {
        Ok(Replayed::Answered(status)) => (Done, json!({ "result": "answered", "status": status })),
        Ok(Replayed::Failed(kind)) => (Done, json!({ "result": "failed", "kind": kind })),
        Ok(Replayed::Poison) => (Done, json!({ "result": "poison" })),
        Ok(Replayed::Expired) => open(json!({ "result": "expired" })),
        Ok(Replayed::Withdrawn) => open(json!({ "result": "withdrawn" })),
        Err(error) => open(json!({ "result": "refused", "detail": error.detail })),
    }
}

const fn open(outcome: Value) -> (DeadLetterState, Value) {
    (DeadLetterState::Open, outcome)
}

/// Whether there is a queue to put a letter of `deployment` into.
fn runs(fleet: &dyn SharedFleet, deployment: &str) -> Result<(), Refused> {
    let has_queue = fleet.queues().iter().any(|q| q.deployment == deployment);
    has_queue.then_some(()).ok_or_else(|| {
        let detail = format!("the fleet does not run the deployment {deployment} any more");
        Refused::conflict("no_deployment", detail)
    })
}

fn refused(row: &DeadLetterRow) -> Refused {
    match why_not(row) {
        Some((code, detail)) => Refused::conflict(code, detail),
        None => Refused::conflict("changed", "it changed meanwhile; try again"),
    }
}
