//! Which dead letters may be replayed, and why the others may not.

use thermocline_policy::fleet::may_replay;
use thermocline_store::{DeadLetterRow, DeadLetterState, StoreError};
use thiserror::Error;

/// Why a dead letter is not replayed or discarded.
#[derive(Debug, Error)]
pub(crate) enum Refused {
    /// The caller's: none is kept.
    #[error("no such dead letter is kept")]
    NotFound,
    /// The caller's: not as things are.
    #[error("{detail}")]
    Conflict {
        /// A word for it.
        code: &'static str,
        /// Why, for people.
        detail: String,
    },
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Refused {
    pub(super) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Refused::Conflict {
            code,
            detail: detail.into(),
        }
    }
}

/// Why `row` may not be replayed, apart from what has become of its deployment:
/// a word and a sentence.
pub(super) fn why_not(row: &DeadLetterRow) -> Option<(&'static str, String)> {
    let told = |code, detail: &str| Some((code, detail.to_owned()));
    match row.state {
        DeadLetterState::Open => {}
        DeadLetterState::Replaying => return told("replaying", "it is being replayed"),
        DeadLetterState::Replayed => return told("replayed", "it was replayed already"),
        DeadLetterState::Discarded => return told("discarded", "it was discarded"),
    }
    if let Err(reason) = may_replay(row.class) {
        return Some((row.class.as_str(), reason.to_string()));
    }
    if row.head.is_none() {
        return told(
            "no_request",
            "its request was no longer held when it was archived",
        );
    }
    if !row.payload_kept {
        return told("no_payload", "its payload is not kept");
    }
    None
}
