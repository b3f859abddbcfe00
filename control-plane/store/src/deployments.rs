use sqlx::SqliteConnection;
use thermocline_policy::Tier;

use crate::{DeploymentRow, Result, Store, StoreError};

/// A deployment as a user hands it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeployment {
    /// Its name.
    pub name: String,
    /// The specification, canonical JSON: equal text is an equal specification.
    pub spec: String,
}

/// Every call below can also fail with [`StoreError::Unavailable`] and
/// [`StoreError::Corrupt`].
impl Store {
    /// All deployments, by name.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn deployments(&self) -> Result<Vec<DeploymentRow>> {
        let rows = sqlx::query_as("select * from deployments order by name");
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// The deployment of that name, where there is one.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn deployment(&self, name: &str) -> Result<Option<DeploymentRow>> {
        let row = sqlx::query_as("select * from deployments where name = ?").bind(name);
        Ok(row.fetch_optional(&self.readers).await?)
    }

    /// Creates all of them or none; the rows come in the same order.
    ///
    /// # Errors
    /// [`StoreError::Exists`] with the first name that is taken.
    pub async fn create_deployments(
        &self,
        new: &[NewDeployment],
        now: i64,
    ) -> Result<Vec<DeploymentRow>> {
        let mut tx = self.begin().await?;
        let mut rows = Vec::with_capacity(new.len());
        for deployment in new {
            if find(&mut tx, &deployment.name).await?.is_some() {
                return Err(StoreError::Exists(deployment.name.clone()));
            }
            rows.push(insert(&mut tx, deployment, now).await?);
        }
        tx.commit().await?;
        Ok(rows)
    }

    /// Creates or replaces all of them or none; in the same order, each row and
    /// whether it was created. An equal specification changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Deleting`] with the first name that is being torn down.
    pub async fn put_deployments(
        &self,
        new: &[NewDeployment],
        now: i64,
    ) -> Result<Vec<(DeploymentRow, bool)>> {
        let mut tx = self.begin().await?;
        let mut rows = Vec::with_capacity(new.len());
        for deployment in new {
            rows.push(put(&mut tx, deployment, now).await?);
        }
        tx.commit().await?;
        Ok(rows)
    }

    /// Replaces the specification, where the generation is still the expected
    /// one (`None`: whatever it is). An equal specification changes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Deleting`], [`StoreError::GenerationChanged`].
    pub async fn update_spec(
        &self,
        name: &str,
        expected_generation: Option<i64>,
        spec: &str,
        now: i64,
    ) -> Result<DeploymentRow> {
        let mut tx = self.begin().await?;
        let old = alive(&mut tx, name).await?;
        if expected_generation.is_some_and(|expected| expected != old.generation) {
            return Err(StoreError::GenerationChanged {
                current: old.generation,
            });
        }
        let row = replace(&mut tx, old, spec, now).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Puts it to sleep, or ends that.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Deleting`].
    pub async fn set_stopped(&self, name: &str, stopped: bool, now: i64) -> Result<DeploymentRow> {
        let mut tx = self.begin().await?;
        alive(&mut tx, name).await?;
        let row = sqlx::query_as(
            "update deployments set stopped = ?, updated_at = ? where name = ? returning *",
        )
        .bind(stopped)
        .bind(now)
        .bind(name)
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Marks it for tearing down, for good; a second time changes nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn set_deleting(&self, name: &str, now: i64) -> Result<DeploymentRow> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update deployments set deleting = 1, updated_at = ? where name = ? and deleting = 0",
        )
        .bind(now)
        .bind(name)
        .execute(&mut *tx)
        .await?;
        let row = find(&mut tx, name).await?;
        tx.commit().await?;
        row.ok_or_else(|| StoreError::NotFound(name.to_owned()))
    }

    /// Keeps the tier that it is on now.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn set_tier(&self, name: &str, tier: Option<Tier>) -> Result<()> {
        let mut tx = self.begin().await?;
        let done = sqlx::query("update deployments set tier = ? where name = ?")
            .bind(tier.map(Tier::as_str))
            .bind(name)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        match done.rows_affected() {
            0 => Err(StoreError::NotFound(name.to_owned())),
            _ => Ok(()),
        }
    }

    /// Removes one that is being torn down, with its decisions; its events stay.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] also for one that nobody tears down; [`StoreError::InstancesRemain`] while an
    /// instance of it is not gone.
    pub async fn forget_deployment(&self, name: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        forget_gone_instances(&mut tx, name).await?;
        if has_instances(&mut tx, name).await? {
            return Err(StoreError::InstancesRemain(name.to_owned()));
        }
        let done = sqlx::query("delete from deployments where name = ? and deleting = 1")
            .bind(name)
            .execute(&mut *tx)
            .await?;
        if done.rows_affected() == 0 {
            return Err(StoreError::NotFound(name.to_owned()));
        }
        tx.commit().await
    }
}

/// The deployment, unless it is missing or being torn down.
pub(crate) async fn alive(conn: &mut SqliteConnection, name: &str) -> Result<DeploymentRow> {
    match find(conn, name).await? {
        None => Err(StoreError::NotFound(name.to_owned())),
        Some(row) if row.deleting => Err(StoreError::Deleting(row.name)),
        Some(row) => Ok(row),
    }
}

async fn find(conn: &mut SqliteConnection, name: &str) -> Result<Option<DeploymentRow>> {
    let row = sqlx::query_as("select * from deployments where name = ?").bind(name);
    Ok(row.fetch_optional(conn).await?)
}

async fn put(
    conn: &mut SqliteConnection,
    new: &NewDeployment,
    now: i64,
) -> Result<(DeploymentRow, bool)> {
    match find(conn, &new.name).await? {
        None => Ok((insert(conn, new, now).await?, true)),
        Some(row) if row.deleting => Err(StoreError::Deleting(row.name)),
        Some(old) => Ok((replace(conn, old, &new.spec, now).await?, false)),
    }
}

async fn insert(
    conn: &mut SqliteConnection,
    new: &NewDeployment,
    now: i64,
) -> Result<DeploymentRow> {
    let row = sqlx::query_as(
        "insert into deployments (name, generation, spec, created_at, updated_at)
         values (?1, 1, ?2, ?3, ?3) returning *",
    )
    .bind(&new.name)
    .bind(&new.spec)
    .bind(now);
    Ok(row.fetch_one(conn).await?)
}

async fn replace(
    conn: &mut SqliteConnection,
    old: DeploymentRow,
    spec: &str,
    now: i64,
) -> Result<DeploymentRow> {
    if old.spec == spec {
        return Ok(old);
    }
    let row = sqlx::query_as(
        "update deployments set spec = ?, generation = generation + 1, updated_at = ?
         where name = ? returning *",
    )
    .bind(spec)
    .bind(now)
    .bind(&old.name);
    Ok(row.fetch_one(conn).await?)
}

async fn forget_gone_instances(conn: &mut SqliteConnection, name: &str) -> Result<()> {
    sqlx::query("delete from instances where deployment = ? and state = 'gone'")
        .bind(name)
        .execute(conn)
        .await?;
    Ok(())
}

async fn has_instances(conn: &mut SqliteConnection, name: &str) -> Result<bool> {
    let found = sqlx::query_scalar("select exists (select 1 from instances where deployment = ?)");
    Ok(found.bind(name).fetch_one(conn).await?)
}
