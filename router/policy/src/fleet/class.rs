use std::fmt;

use thiserror::Error;

/// What a dead letter's failures say about trying it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// What failed was not the job: it may succeed another time.
    Transient,
    /// It fails the same way every time.
    Deterministic,
    /// It kills what runs it.
    Poison,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 3] = [Class::Transient, Class::Deterministic, Class::Poison];

    /// The word used in REST and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Class::Transient => "transient",
            Class::Deterministic => "deterministic",
            Class::Poison => "poison",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a dead letter may not be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum NotReplayable {
    /// It would fail again.
    #[error("it fails the same way every time: send a corrected request instead")]
    Deterministic,
    /// It would take another worker down, or its runtime.
    #[error(
        "two workers died with it in hand, or their runtimes did: a replay would take another one down"
    )]
    Poison,
}

/// Whether a dead letter of `class` may be replayed.
///
/// # Errors
/// Why not: only what is transient may.
pub fn may_replay(class: Class) -> Result<(), NotReplayable> {
    match class {
        Class::Transient => Ok(()),
        Class::Deterministic => Err(NotReplayable::Deterministic),
        Class::Poison => Err(NotReplayable::Poison),
    }
}
