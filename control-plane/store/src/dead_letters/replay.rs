use super::DeadLetterState;
use crate::{Result, Store};

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) and
/// [`StoreError::Corrupt`](crate::StoreError::Corrupt) alone.
impl Store {
    /// Marks a letter as being replayed at `now`; false, and nothing changed,
    /// unless it is open, transient, and kept with its request.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn begin_replay(&self, id: &str, now: i64) -> Result<bool> {
        Ok(!self.begin_replays(Some(id), None, now).await?.is_empty())
    }

    /// The same of every letter of `fingerprint`; their ids, oldest first.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn begin_group_replay(&self, fingerprint: &str, now: i64) -> Result<Vec<String>> {
        self.begin_replays(None, Some(fingerprint), now).await
    }

    async fn begin_replays(
        &self,
        id: Option<&str>,
        fingerprint: Option<&str>,
        now: i64,
    ) -> Result<Vec<String>> {
        let mut tx = self.begin().await?;
        let mut begun: Vec<(i64, String)> = sqlx::query_as(
            "update dead_letters set state = 'replaying', outcome = null, changed_at = ?3
             where (?1 is null or id = ?1) and (?2 is null or fingerprint = ?2)
                 and state = 'open' and class = 'transient' and head is not null
                 and seq in (select letter from dead_letter_payloads)
             returning seq, id",
        )
        .bind(id)
        .bind(fingerprint)
        .bind(now)
        .fetch_all(&mut *tx)
        .await?;
        tx.commit().await?;
        begun.sort_unstable();
        Ok(begun.into_iter().map(|(_, id)| id).collect())
    }

    /// Writes down how the replay of a letter ended at `now`, JSON: it is then
    /// in `state`.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn end_replay(
        &self,
        id: &str,
        state: DeadLetterState,
        outcome: &str,
        now: i64,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update dead_letters set state = ?, outcome = ?, changed_at = ?
             where id = ? and state = 'replaying'",
        )
        .bind(state.as_str())
        .bind(outcome)
        .bind(now)
        .bind(id)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }

    /// Opens again what was being replayed when the process ended, with that
    /// `outcome`, JSON; how many.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn reopen_replays(&self, outcome: &str, now: i64) -> Result<u64> {
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "update dead_letters set state = 'open', outcome = ?, changed_at = ?
             where state = 'replaying'",
        )
        .bind(outcome)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }

    /// Throws a letter's payload away at `now`; false, and nothing changed,
    /// where there is no such letter, it is being replayed, or was discarded before.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn discard_dead_letter(&self, id: &str, now: i64) -> Result<bool> {
        let mut tx = self.begin().await?;
        let letter: Option<i64> = sqlx::query_scalar(
            "update dead_letters set changed_at = ?, state = 'discarded'
             where id = ? and state not in ('replaying', 'discarded') returning seq",
        )
        .bind(now)
        .bind(id)
        .fetch_optional(&mut *tx)
        .await?;
        sqlx::query("delete from dead_letter_payloads where letter = ?")
            .bind(letter)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(letter.is_some())
    }
}
