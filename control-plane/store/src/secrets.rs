use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};

use crate::{Result, Store, StoreError};

/// A secret as it is kept: what it holds cannot be read here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRow {
    /// Its name, unique.
    pub name: String,
    /// The value as the server sealed it.
    pub sealed: Vec<u8>,
    /// Microseconds since 1970, UTC.
    pub created_at: i64,
    /// When its value was last set; microseconds since 1970, UTC.
    pub updated_at: i64,
}

impl FromRow<'_, SqliteRow> for SecretRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(SecretRow {
            name: row.try_get("name")?,
            sealed: row.try_get("sealed")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

/// Every call below can also fail with [`StoreError::Unavailable`] and
/// [`StoreError::Corrupt`].
impl Store {
    /// All secrets, by name.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn secrets(&self) -> Result<Vec<SecretRow>> {
        let rows = sqlx::query_as("select * from secrets order by name");
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// Sets a secret at `now`, and leaves when it was created.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn put_secret(&self, name: &str, sealed: &[u8], now: i64) -> Result<SecretRow> {
        let mut tx = self.begin().await?;
        let row = sqlx::query_as(
            "insert into secrets (name, sealed, created_at, updated_at)
             values (?1, ?2, ?3, ?3)
             on conflict (name) do update set sealed = ?2, updated_at = ?3
             returning *",
        )
        .bind(name)
        .bind(sealed)
        .bind(now)
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Removes a secret.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] where there is none.
    pub async fn delete_secret(&self, name: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let done = sqlx::query("delete from secrets where name = ?")
            .bind(name)
            .execute(&mut *tx)
            .await?;
        if done.rows_affected() == 0 {
            return Err(StoreError::NotFound(name.to_owned()));
        }
        tx.commit().await
    }
}
