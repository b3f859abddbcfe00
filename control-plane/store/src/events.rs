use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::{EventRow, Result, Store};

/// How many events one statement writes; four parameters each, of 32,766.
const BATCH: usize = 1000;

/// Something that happened and is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Microseconds since 1970, UTC.
    pub at: i64,
    /// What kind of thing.
    pub kind: String,
    /// The deployment that it is about, where it is about one.
    pub deployment: Option<String>,
    /// The rest, JSON.
    pub body: String,
}

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) alone.
impl Store {
    /// Appends all of them or none, in their order; the last one's number, or
    /// [`Store::last_event_seq`] where there is none.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn append_events(&self, events: &[NewEvent]) -> Result<i64> {
        let mut tx = self.begin().await?;
        for batch in events.chunks(BATCH) {
            insert(&mut tx, batch).await?;
        }
        let seq = last_seq(&mut tx).await?;
        tx.commit().await?;
        Ok(seq)
    }

    /// The events after number `seq`, oldest first, at most `limit`.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn events_after(&self, seq: i64, limit: u32) -> Result<Vec<EventRow>> {
        let rows = sqlx::query_as("select * from events where seq > ? order by seq limit ?");
        Ok(rows.bind(seq).bind(limit).fetch_all(&self.readers).await?)
    }

    /// The number of the newest event that ever was, pruned or not; 0 before the first.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn last_event_seq(&self) -> Result<i64> {
        last_seq(&mut *self.readers.acquire().await?).await
    }

    /// Removes all but the newest `keep`; how many were removed.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn prune_events(&self, keep: i64) -> Result<u64> {
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "delete from events
             where seq <= (select seq from events order by seq desc limit 1 offset ?)",
        )
        .bind(keep.max(0))
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }
}

async fn insert(conn: &mut SqliteConnection, events: &[NewEvent]) -> Result<()> {
    let mut query = QueryBuilder::<Sqlite>::new("insert into events (at, kind, deployment, body) ");
    query.push_values(events, |mut row, event| {
        row.push_bind(event.at)
            .push_bind(&event.kind)
            .push_bind(&event.deployment)
            .push_bind(&event.body);
    });
    // Batches differ in length, and so in text: not worth a place among the prepared ones.
    query.build().persistent(false).execute(conn).await?;
    Ok(())
}

async fn last_seq(conn: &mut SqliteConnection) -> Result<i64> {
    let seq = sqlx::query_scalar(
        "select coalesce((select seq from sqlite_sequence where name = 'events'), 0)",
    );
    Ok(seq.fetch_one(conn).await?)
}
