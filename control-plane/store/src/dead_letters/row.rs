use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};
use thermocline_policy::fleet::Class;

use crate::row::unreadable;

/// What has become of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadLetterState {
    /// Nobody has decided yet.
    Open,
    /// It is in its queue once more, or waits to be put there.
    Replaying,
    /// It has been run once more.
    Replayed,
    /// A person threw it away; its payload is gone.
    Discarded,
}

impl DeadLetterState {
    /// Every state.
    pub const ALL: [DeadLetterState; 4] = [
        DeadLetterState::Open,
        DeadLetterState::Replaying,
        DeadLetterState::Replayed,
        DeadLetterState::Discarded,
    ];

    /// The word used in REST.
    pub const fn as_str(self) -> &'static str {
        match self {
            DeadLetterState::Open => "open",
            DeadLetterState::Replaying => "replaying",
            DeadLetterState::Replayed => "replayed",
            DeadLetterState::Discarded => "discarded",
        }
    }
}

/// Why a job is a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadLetterCause {
    /// A worker gave it up.
    GivenUp,
    /// The broker gave it up: nobody ever settled it.
    Undeliverable,
}

impl DeadLetterCause {
    /// Every cause.
    pub const ALL: [DeadLetterCause; 2] =
        [DeadLetterCause::GivenUp, DeadLetterCause::Undeliverable];

    /// The word used in REST.
    pub const fn as_str(self) -> &'static str {
        match self {
            DeadLetterCause::GivenUp => "given_up",
            DeadLetterCause::Undeliverable => "undeliverable",
        }
    }
}

/// A dead letter without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterRow {
    /// Its place in the order of all, from 1; never used again.
    pub seq: i64,
    /// The job's.
    pub id: String,
    /// The deployment, which may be gone.
    pub deployment: String,
    /// What its failures say about trying it again.
    pub class: Class,
    /// The same for failures of one kind.
    pub fingerprint: String,
    /// Why it is here.
    pub cause: DeadLetterCause,
    /// What kind of failure the last one was.
    pub kind: String,
    /// What was said of it.
    pub detail: String,
    /// Attempts in all.
    pub attempts: u32,
    /// Every failure that is known, oldest first, JSON.
    pub failures: String,
    /// The request's method, target and headers, JSON, where they were still known.
    pub head: Option<String>,
    /// Bytes of its payload, kept or not.
    pub payload_bytes: i64,
    /// Whether the payload is kept.
    pub payload_kept: bool,
    /// What was left out of the request, JSON.
    pub cut: String,
    /// What has become of it.
    pub state: DeadLetterState,
    /// How its last replay ended, JSON.
    pub outcome: Option<String>,
    /// When it was first seen; microseconds since 1970, UTC.
    pub first_seen: i64,
    /// When a copy of it was last seen; microseconds since 1970, UTC.
    pub last_seen: i64,
    /// Since when it is in its state; microseconds since 1970, UTC.
    pub changed_at: i64,
}

impl FromRow<'_, SqliteRow> for DeadLetterRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(DeadLetterRow {
            seq: row.try_get("seq")?,
            id: row.try_get("id")?,
            deployment: row.try_get("deployment")?,
            class: class(row.try_get("class")?)?,
            fingerprint: row.try_get("fingerprint")?,
            cause: word(row, "cause", &DeadLetterCause::ALL, DeadLetterCause::as_str)?,
            kind: row.try_get("kind")?,
            detail: row.try_get("detail")?,
            attempts: row.try_get("attempts")?,
            failures: row.try_get("failures")?,
            head: row.try_get("head")?,
            payload_bytes: row.try_get("payload_bytes")?,
            payload_kept: row.try_get("payload_kept")?,
            cut: row.try_get("cut")?,
            state: word(row, "state", &DeadLetterState::ALL, DeadLetterState::as_str)?,
            outcome: row.try_get("outcome")?,
            first_seen: row.try_get("first_seen")?,
            last_seen: row.try_get("last_seen")?,
            changed_at: row.try_get("changed_at")?,
        })
    }
}

pub(super) fn class(word: &str) -> sqlx::Result<Class> {
    let found = Class::ALL.into_iter().find(|class| class.as_str() == word);
    found.ok_or_else(|| unreadable("class"))
}

fn word<T: Copy>(
    row: &SqliteRow,
    column: &'static str,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> sqlx::Result<T> {
    let word: &str = row.try_get(column)?;
    let found = all.iter().copied().find(|one| as_str(*one) == word);
    found.ok_or_else(|| unreadable(column))
}
