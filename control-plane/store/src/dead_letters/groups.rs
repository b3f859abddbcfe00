use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};
use thermocline_policy::fleet::Class;

use super::row::class;
use super::{DeadLetterFilter, DeadLetterState};
use crate::{Result, Store};

/// Dead letters that failed alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterGroup {
    /// What they have in common.
    pub fingerprint: String,
    /// What kind of failure the newest one ended with.
    pub kind: String,
    /// What was said of that.
    pub detail: String,
    /// The classes among them, sorted.
    pub classes: Vec<Class>,
    /// The deployments that they are of, sorted.
    pub deployments: Vec<String>,
    /// How many they are.
    pub letters: u32,
    /// How many of them nobody has decided on.
    pub open: u32,
    /// How many may be replayed now.
    pub replayable: u32,
    /// When the first was seen; microseconds since 1970, UTC.
    pub first_seen: i64,
    /// When the last was seen; microseconds since 1970, UTC.
    pub last_seen: i64,
}

impl FromRow<'_, SqliteRow> for DeadLetterGroup {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let sorted = |column| -> sqlx::Result<Vec<String>> {
            let words: &str = row.try_get(column)?;
            let mut words: Vec<String> = words.split(',').map(str::to_owned).collect();
            words.sort();
            Ok(words)
        };
        let mut classes: Vec<Class> = sorted("classes")?
            .iter()
            .map(|word| class(word))
            .collect::<sqlx::Result<_>>()?;
        classes.sort();
        Ok(DeadLetterGroup {
            fingerprint: row.try_get("fingerprint")?,
            kind: row.try_get("kind")?,
            detail: row.try_get("detail")?,
            classes,
            deployments: sorted("deployments")?,
            letters: row.try_get("letters")?,
            open: row.try_get("open")?,
            replayable: row.try_get("replayable")?,
            first_seen: row.try_get("first_seen")?,
            last_seen: row.try_get("last_seen")?,
        })
    }
}

impl Store {
    /// The letters that pass `filter`, by fingerprint, the ones seen last
    /// first, at most `limit` groups.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) and
    /// [`StoreError::Corrupt`](crate::StoreError::Corrupt).
    pub async fn dead_letter_groups(
        &self,
        filter: &DeadLetterFilter,
        limit: u32,
    ) -> Result<Vec<DeadLetterGroup>> {
        // A deployment's name holds no comma.
        let rows = sqlx::query_as(
            "select grouped.*, newest.kind, newest.detail from
                 (select fingerprint, max(seq) as newest, count(*) as letters,
                      group_concat(distinct class) as classes,
                      group_concat(distinct deployment) as deployments,
                      sum(state = 'open') as open,
                      sum(state = 'open' and class = 'transient' and head is not null
                          and letter is not null) as replayable,
                      min(first_seen) as first_seen, max(last_seen) as last_seen
                  from dead_letters left join dead_letter_payloads on letter = seq
                  where (?1 is null or class = ?1) and (?2 is null or deployment = ?2)
                      and (?3 is null or fingerprint = ?3) and (?4 is null or state = ?4)
                  group by fingerprint) as grouped
             join dead_letters as newest on newest.seq = grouped.newest
             order by grouped.last_seen desc, grouped.newest desc limit ?5",
        )
        .bind(filter.class.map(Class::as_str))
        .bind(&filter.deployment)
        .bind(&filter.fingerprint)
        .bind(filter.state.map(DeadLetterState::as_str))
        .bind(limit);
        Ok(rows.fetch_all(&self.readers).await?)
    }
}
