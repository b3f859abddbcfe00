use sqlx::SqliteConnection;
use std::time::Duration;
use thermocline_policy::fleet::Class;

use super::DeadLetterCause;
use crate::{Result, Store};

/// A dead letter to be archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeadLetter {
    /// The job's: a second copy of one job is no second letter.
    pub id: String,
    /// The deployment.
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
    /// The request's method, target and headers, JSON, where they are known.
    pub head: Option<String>,
    /// Bytes of its payload, kept or not.
    pub payload_bytes: i64,
    /// The payload, where it is to be kept.
    pub payload: Option<Vec<u8>>,
    /// What was left out of the request, JSON.
    pub cut: String,
}

/// How much is kept of dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetterLimits {
    /// The most letters.
    pub letters: u32,
    /// How long after it was last seen.
    pub age: Duration,
    /// The most bytes of all payloads; the oldest go first, their letters stay.
    pub payload_bytes: u64,
}

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) and
/// [`StoreError::Corrupt`](crate::StoreError::Corrupt) alone.
impl Store {
    /// Keeps a letter that was seen at `now`; whether it is a new one. One that
    /// is kept already is told again, not tried again: it stays as it is.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn archive_dead_letter(&self, new: &NewDeadLetter, now: i64) -> Result<bool> {
        let mut tx = self.begin().await?;
        let added = insert(&mut tx, new, now).await?;
        if let Some(seq) = added {
            keep_payload(&mut tx, seq, new.payload.as_deref()).await?;
        }
        tx.commit().await?;
        Ok(added.is_some())
    }

    /// Forgets what goes beyond `limits` at `now`, but no letter that is being
    /// replayed; how many letters were forgotten.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn prune_dead_letters(&self, limits: &DeadLetterLimits, now: i64) -> Result<u64> {
        let age = i64::try_from(limits.age.as_micros()).unwrap_or(i64::MAX);
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "delete from dead_letters where state <> 'replaying' and (last_seen < ?1 or seq <=
                 (select seq from dead_letters order by seq desc limit 1 offset ?2))",
        )
        .bind(now.saturating_sub(age))
        .bind(limits.letters)
        .execute(&mut *tx)
        .await?;
        drop_payloads(&mut tx, limits.payload_bytes).await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }
}

/// The new letter's number, unless the job has one.
async fn insert(conn: &mut SqliteConnection, new: &NewDeadLetter, now: i64) -> Result<Option<i64>> {
    let seq = sqlx::query_scalar(
        "insert into dead_letters (id, deployment, class, fingerprint, cause, kind, detail,
             attempts, failures, head, payload_bytes, cut, state, first_seen, last_seen, changed_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'open', ?13, ?13, ?13)
         on conflict (id) do nothing returning seq",
    )
    .bind(&new.id)
    .bind(&new.deployment)
    .bind(new.class.as_str())
    .bind(&new.fingerprint)
    .bind(new.cause.as_str())
    .bind(&new.kind)
    .bind(&new.detail)
    .bind(new.attempts)
    .bind(&new.failures)
    .bind(&new.head)
    .bind(new.payload_bytes)
    .bind(&new.cut)
    .bind(now);
    Ok(seq.fetch_optional(conn).await?)
}

async fn keep_payload(
    conn: &mut SqliteConnection,
    letter: i64,
    payload: Option<&[u8]>,
) -> Result<()> {
    let Some(payload) = payload else {
        return Ok(());
    };
    sqlx::query("insert into dead_letter_payloads (letter, bytes, payload) values (?, ?, ?)")
        .bind(letter)
        .bind(i64::try_from(payload.len()).unwrap_or(i64::MAX))
        .bind(payload)
        .execute(conn)
        .await?;
    Ok(())
}

/// Drops the oldest payloads of letters that are not being replayed, until
/// those that are newer fit into `most` bytes.
async fn drop_payloads(conn: &mut SqliteConnection, most: u64) -> Result<()> {
    sqlx::query(
        "delete from dead_letter_payloads where letter in
             (select letter from (select letter, sum(bytes) over (order by letter desc) as upto
                  from dead_letter_payloads) where upto > ?)
         and letter not in (select seq from dead_letters where state = 'replaying')",
    )
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .execute(conn)
    .await?;
    Ok(())
}
