//! Jobs of the shared fleet that nobody will run any more: archived, told,
//! shown, and run once more where that may help.

mod admission;
mod archive;
mod head;
mod json;
mod record;
mod refusal;
mod replay;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thermocline_policy::fleet::Class;
use thermocline_store::DeadLetterLimits;
use tokio::sync::mpsc;

pub(crate) use json::{group_json, letter_json, whole_json};
pub(crate) use refusal::Refused;

/// What is kept of dead letters, and how fast they are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetterSettings {
    /// How many, how long, and how much of their payloads in all.
    pub limits: DeadLetterLimits,
    /// The largest payload that is kept, bytes.
    pub max_payload: u64,
    /// The most replays a minute, 1 or more.
    pub replays_per_minute: u32,
}

impl Default for DeadLetterSettings {
    fn default() -> Self {
        DeadLetterSettings {
            limits: DeadLetterLimits {
                letters: 10_000,
                age: Duration::from_secs(14 * 24 * 3_600),
                payload_bytes: 256 << 20,
            },
            max_payload: 1 << 20,
            replays_per_minute: 60,
        }
    }
}

/// What the process knows of its dead letters; the rest is the store's.
pub(crate) struct DeadLetters {
    settings: DeadLetterSettings,
    /// Archived since the start, by class.
    archived: [AtomicU64; Class::ALL.len()],
    /// Letters whose replay waits for its turn.
    turns: mpsc::UnboundedSender<String>,
}

impl DeadLetters {
    /// None yet; and where those that are to be replayed come out.
    pub(crate) fn new(settings: DeadLetterSettings) -> (Self, mpsc::UnboundedReceiver<String>) {
        let (turns, next) = mpsc::unbounded_channel();
        let letters = DeadLetters {
            settings,
            archived: Default::default(),
            turns,
        };
        (letters, next)
    }

    /// How many of `class` have been archived since the start.
    pub(crate) fn archived(&self, class: Class) -> u64 {
        self.archived[class as usize].load(Ordering::Relaxed)
    }

    /// The time between two replays.
    pub(crate) fn pace(&self) -> Duration {
        Duration::from_secs(60) / self.settings.replays_per_minute.max(1)
    }

    fn count(&self, class: Class) {
        self.archived[class as usize].fetch_add(1, Ordering::Relaxed);
    }
}
