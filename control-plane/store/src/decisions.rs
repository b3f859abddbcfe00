use sqlx::SqliteConnection;
use thermocline_policy::Tier;

use crate::error::is_dangling;
use crate::{DecisionRow, Result, Store, StoreError};

/// How many decisions of a deployment are kept.
const KEPT: u32 = 1000;

/// A transition between tiers, done or refused, to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDecision {
    /// The deployment that it is about.
    pub deployment: String,
    /// Microseconds since 1970, UTC.
    pub at: i64,
    /// The tier before, where there was one.
    pub from: Option<Tier>,
    /// The tier that was chosen.
    pub to: Tier,
    /// The rule that fired.
    pub reason: String,
    /// Whether it was wanted but not done.
    pub refused: bool,
    /// What the policy saw, JSON.
    pub inputs: String,
}

/// Every call below can also fail with [`StoreError::Unavailable`] and
/// [`StoreError::Corrupt`].
impl Store {
    /// Appends it and removes what is older than the newest 1000 of its
    /// deployment; its number.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] where the deployment is forgotten.
    pub async fn append_decision(&self, new: &NewDecision) -> Result<i64> {
        let mut tx = self.begin().await?;
        let id = insert(&mut tx, new).await?;
        prune(&mut tx, &new.deployment).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// The deployment's decisions with a number below `before` (`None`: all),
    /// newest first, at most `limit`.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn decisions(
        &self,
        deployment: &str,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<DecisionRow>> {
        let rows = sqlx::query_as(
            "select * from decisions where deployment = ? and id < ? order by id desc limit ?",
        )
        .bind(deployment)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit);
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// The decisions of every deployment with a number below `before` (`None`:
    /// all), newest first, at most `limit`.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn all_decisions(&self, before: Option<i64>, limit: u32) -> Result<Vec<DecisionRow>> {
        let rows = sqlx::query_as("select * from decisions where id < ? order by id desc limit ?")
            .bind(before.unwrap_or(i64::MAX))
            .bind(limit);
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// The decision of that number, where it is kept.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn decision(&self, id: i64) -> Result<Option<DecisionRow>> {
        let row = sqlx::query_as("select * from decisions where id = ?").bind(id);
        Ok(row.fetch_optional(&self.readers).await?)
    }
}

async fn insert(conn: &mut SqliteConnection, new: &NewDecision) -> Result<i64> {
    let done = sqlx::query(
        "insert into decisions (deployment, at, from_tier, to_tier, reason, refused, inputs)
         values (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&new.deployment)
    .bind(new.at)
    .bind(new.from.map(Tier::as_str))
    .bind(new.to.as_str())
    .bind(&new.reason)
    .bind(new.refused)
    .bind(&new.inputs)
    .execute(conn)
    .await;
    match done {
        Ok(done) => Ok(done.last_insert_rowid()),
        Err(error) if is_dangling(&error) => Err(StoreError::NotFound(new.deployment.clone())),
        Err(error) => Err(error.into()),
    }
}

async fn prune(conn: &mut SqliteConnection, deployment: &str) -> Result<()> {
    sqlx::query(
        "delete from decisions where deployment = ?1 and id <=
             (select id from decisions where deployment = ?1 order by id desc limit 1 offset ?2)",
    )
    .bind(deployment)
    .bind(KEPT)
    .execute(conn)
    .await?;
    Ok(())
}
