use thermocline_policy::fleet::Class;

use super::{DeadLetterRow, DeadLetterState};
use crate::{Result, Store};

/// Which dead letters; each that is `None` does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeadLetterFilter {
    /// Of this class.
    pub class: Option<Class>,
    /// Of this deployment.
    pub deployment: Option<String>,
    /// Of this fingerprint.
    pub fingerprint: Option<String>,
    /// In this state.
    pub state: Option<DeadLetterState>,
}

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) and
/// [`StoreError::Corrupt`](crate::StoreError::Corrupt) alone.
impl Store {
    /// The letters that pass `filter` with a number below `before` (`None`:
    /// all), newest first, at most `limit`.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<DeadLetterRow>> {
        let rows = sqlx::query_as(
            "select *, exists (select 1 from dead_letter_payloads where letter = seq)
                 as payload_kept from dead_letters
             where (?1 is null or class = ?1) and (?2 is null or deployment = ?2)
                 and (?3 is null or fingerprint = ?3) and (?4 is null or state = ?4)
                 and seq < ?5 order by seq desc limit ?6",
        )
        .bind(filter.class.map(Class::as_str))
        .bind(&filter.deployment)
        .bind(&filter.fingerprint)
        .bind(filter.state.map(DeadLetterState::as_str))
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit);
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// The letter of that job, where it is kept.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetterRow>> {
        let row = sqlx::query_as(
            "select *, exists (select 1 from dead_letter_payloads where letter = seq)
                 as payload_kept from dead_letters where id = ?",
        );
        Ok(row.bind(id).fetch_optional(&self.readers).await?)
    }

    /// The payload of that letter, where it is kept.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn dead_letter_payload(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let payload = sqlx::query_scalar(
            "select payload from dead_letter_payloads
             join dead_letters on seq = letter where id = ?",
        );
        Ok(payload.bind(id).fetch_optional(&self.readers).await?)
    }
}
