use crate::{Result, Store};

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// SHA-256 of the cookie.
    pub hash: [u8; 32],
    /// SHA-256 of the token that it was opened with.
    pub token_hash: [u8; 32],
    /// Microseconds since 1970, UTC.
    pub expires_at: i64,
}

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) alone.
impl Store {
    /// Writes a session down, and removes those that have ended by `now`.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn add_session(&self, session: &SessionRow, now: i64) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from sessions where expires_at <= ?")
            .bind(now)
            .execute(&mut *tx)
            .await?;
        sqlx::query("insert into sessions (hash, token_hash, expires_at) values (?, ?, ?)")
            .bind(&session.hash[..])
            .bind(&session.token_hash[..])
            .bind(session.expires_at)
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }

    /// When the session of `hash` ends, where it was opened with the token of
    /// `token_hash`; microseconds since 1970, UTC.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn session_end(&self, hash: &[u8; 32], token_hash: &[u8; 32]) -> Result<Option<i64>> {
        let end =
            sqlx::query_scalar("select expires_at from sessions where hash = ? and token_hash = ?")
                .bind(&hash[..])
                .bind(&token_hash[..]);
        Ok(end.fetch_optional(&self.readers).await?)
    }

    /// Forgets a session; one that is not there is fine.
    ///
    /// # Errors
    /// Only the common one.
    pub async fn drop_session(&self, hash: &[u8; 32]) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from sessions where hash = ?")
            .bind(&hash[..])
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }
}
