use sqlx::SqliteConnection;
use ulid::Ulid;

use crate::{Result, Store};

/// How many characters of a ULID's random end tell installations apart: 50 bits.
const OWNER_LENGTH: usize = 10;

impl Store {
    /// This installation's id, ten lowercase letters and digits; made once, with the database.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    pub async fn owner(&self) -> Result<String> {
        let owner = sqlx::query_scalar("select owner from installation");
        Ok(owner.fetch_one(&self.readers).await?)
    }

    /// SHA-256 of the admin token, where one was set.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    pub async fn admin_token_hash(&self) -> Result<Option<[u8; 32]>> {
        let hash: Option<Vec<u8>> = sqlx::query_scalar("select admin_token_hash from installation")
            .fetch_one(&self.readers)
            .await?;
        let exact = hash.map(<[u8; 32]>::try_from).transpose();
        exact.map_err(|_| sqlx::Error::Decode("not 32 bytes".into()).into())
    }

    /// Sets the hash where none is set; `false`, and no change, where one is.
    /// Of several first starts at once, one gets `true`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    pub async fn init_admin_token_hash(&self, hash: &[u8; 32]) -> Result<bool> {
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "update installation set admin_token_hash = ? where admin_token_hash is null",
        )
        .bind(&hash[..])
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(done.rows_affected() > 0)
    }

    /// Sets the hash, also where one is set.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    pub async fn set_admin_token_hash(&self, hash: &[u8; 32]) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("update installation set admin_token_hash = ?")
            .bind(&hash[..])
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }
}

/// Gives the database its owner, where it has none yet.
pub(crate) async fn found(conn: &mut SqliteConnection) -> Result<()> {
    sqlx::query("insert into installation (id, owner) values (1, ?) on conflict do nothing")
        .bind(new_owner())
        .execute(conn)
        .await?;
    Ok(())
}

fn new_owner() -> String {
    let ulid = Ulid::generate().to_string();
    ulid[ulid.len() - OWNER_LENGTH..].to_ascii_lowercase()
}
