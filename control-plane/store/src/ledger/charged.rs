use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row, SqliteConnection};

use crate::{Result, Store};

/// Until when the ledger has what an instance costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charged {
    /// The instance.
    pub instance: String,
    /// Microseconds since 1970, UTC.
    pub until: i64,
    /// When its provider ends it by itself at the latest, unless it is told
    /// otherwise; `None` = never. Microseconds since 1970, UTC.
    pub ends_by: Option<i64>,
}

impl Store {
    /// Until when instances are charged whose absence is not confirmed, as far as
    /// that is known.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable),
    /// [`StoreError::Corrupt`](crate::StoreError::Corrupt).
    pub async fn charged(&self) -> Result<Vec<Charged>> {
        let rows = sqlx::query_as(
            "select id, charged_until, ends_by from instances
             where charged_until is not null and state <> 'gone'",
        );
        Ok(rows.fetch_all(&self.readers).await?)
    }
}

/// Not fenced by the instance's epoch: nobody else writes these columns.
pub(super) async fn set_charged(conn: &mut SqliteConnection, charged: &Charged) -> Result<()> {
    sqlx::query("update instances set charged_until = ?2, ends_by = ?3 where id = ?1")
        .bind(&charged.instance)
        .bind(charged.until)
        .bind(charged.ends_by)
        .execute(conn)
        .await?;
    Ok(())
}

impl FromRow<'_, SqliteRow> for Charged {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Charged {
            instance: row.try_get("id")?,
            until: row.try_get("charged_until")?,
            ends_by: row.try_get("ends_by")?,
        })
    }
}
