//! The processor: archives what comes, and only then lets go of it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use thermocline_provider::fleet::{DeadLetter, SharedFleet};
use thermocline_store::{NewDeadLetter, Result};
use thermocline_wire::rfc3339;
use tokio::sync::mpsc;

use super::head::row;
use super::record::record;
use crate::control::ControlPlane;

/// Between two tries at what failed.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How often what is too old or too much is forgotten, without new letters.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// And after how many new letters at the latest.
const PRUNE_AFTER: u32 = 100;

impl ControlPlane {
    /// Opens again what was being replayed when the last process ended, and
    /// starts the loops, where there is a fleet.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn start_dead_letters(
        self: &Arc<Self>,
        turns: mpsc::UnboundedReceiver<String>,
    ) -> Result<()> {
        let now = self.clock.wall_micros();
        let outcome = json!({ "result": "interrupted", "at": rfc3339(now) });
        self.store.reopen_replays(&outcome.to_string(), now).await?;
        if let Some(fleet) = &self.fleet {
            let shared = &fleet.shared;
            tokio::spawn(self.clone().archive_dead_letters(shared.clone()));
            tokio::spawn(self.clone().replay_in_turn(shared.clone(), turns));
        }
        Ok(())
    }

    /// Archives the fleet's dead letters until we drain.
    async fn archive_dead_letters(self: Arc<Self>, fleet: Arc<dyn SharedFleet>) {
        let archiving = async {
            loop {
                self.archive_stream(&*fleet).await;
                self.clock.sleep(PAUSE).await;
            }
        };
        let pruning = async {
            loop {
                self.prune_dead_letters().await;
                self.clock.sleep(PRUNE_EVERY).await;
            }
        };
        tokio::select! {
            () = archiving => {}
            () = pruning => {}
            () = self.drain.cancelled() => {}
        }
    }

    async fn archive_stream(&self, fleet: &dyn SharedFleet) {
        let mut letters = match fleet.dead_letters().await {
            Ok(letters) => letters,
            Err(error) => return tracing::warn!(%error, "dead letters cannot be read now"),
        };
        let mut since_prune = 0;
        while let Some(letter) = letters.next().await {
            self.archive(letter).await;
            since_prune += 1;
            if since_prune >= PRUNE_AFTER {
                since_prune = 0;
                self.prune_dead_letters().await;
            }
        }
    }

    /// Archives one, however long the store is away: until then it is the broker's.
    async fn archive(&self, letter: DeadLetter) {
        let max_payload = self.dead_letters.settings.max_payload;
        let seal = |text: &str| self.seal_head(&letter.job.id, text);
        let new = record(&letter, max_payload, self.secrets.redaction(), seal);
        let is_new = loop {
            let now = self.clock.wall_micros();
            match self.store.archive_dead_letter(&new, now).await {
                Ok(is_new) => break is_new,
                Err(error) => tracing::error!(%error, "a dead letter cannot be archived yet"),
            }
            self.clock.sleep(PAUSE).await;
        };
        if is_new {
            self.dead_letters.count(new.class);
            self.tell_dead_letter(&new);
        }
        letter.archived().await;
    }

    fn seal_head(&self, letter: &str, text: &str) -> Option<String> {
        let sealed = self.secrets.seal_text(&row(letter), text);
        let lost = |error: &_| tracing::error!(%error, letter, "its request cannot be sealed");
        sealed.inspect_err(lost).ok()
    }

    fn tell_dead_letter(&self, new: &NewDeadLetter) {
        let text = format!(
            "{} is a dead letter after {} attempts: {} ({})",
            new.id, new.attempts, new.kind, new.class
        );
        let body = json!({
            "letter": new.id,
            "class": new.class.as_str(),
            "fingerprint": new.fingerprint,
            "failure": new.kind,
            "attempts": new.attempts,
        });
        self.events
            .tell("fleet.dead_letter", Some(&new.deployment), &text, body);
    }

    async fn prune_dead_letters(&self) {
        let limits = &self.dead_letters.settings.limits;
        let now = self.clock.wall_micros();
        match self.store.prune_dead_letters(limits, now).await {
            Ok(0) => {}
            Ok(forgotten) => tracing::info!(forgotten, "old dead letters were forgotten"),
            Err(error) => tracing::warn!(%error, "old dead letters cannot be forgotten now"),
        }
    }
}
