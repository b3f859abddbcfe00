use sqlx::{Row, SqliteConnection};
use thermocline_policy::{Calendar, Ceilings, Commitment, InstanceState, NanoUsd, Spending, Tier};

use crate::deployments::alive;
use crate::error::is_taken;
use crate::row::price;
use crate::{InstanceRow, Result, Store, StoreError};

/// An instance that is about to be caused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInstance {
    /// A fresh ULID; the key under which the provider will know it.
    pub id: String,
    /// The deployment that it is for.
    pub deployment: String,
    /// How it is paid for.
    pub tier: Tier,
    /// Who is to run it, by its name in the configuration.
    pub provider: String,
    /// Its place among the instances of its deployment and tier, from 0.
    pub slot: u32,
    /// The deployment's generation that it is for.
    pub generation: i64,
    /// What of the specification it is started with.
    pub fingerprint: String,
    /// Which GPUs of this machine it gets and how much of them, JSON; for local ones.
    pub placement: Option<String>,
    /// What it will cost while it exists, where that is known.
    pub usd_per_hour: Option<NanoUsd>,
}

/// What a pod's intent is held against.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowance {
    /// The limits.
    pub ceilings: Ceilings,
    /// What the deployment has spent since midnight UTC.
    pub today: NanoUsd,
    /// What all deployments have spent since the hour of UTC began.
    pub this_hour: NanoUsd,
    /// What pods count as whose price nobody told.
    pub assumed: Option<NanoUsd>,
    /// Ids of those whose provider knows them no more: nobody pays for them.
    pub unpaid: Vec<String>,
}

/// What else a write changes; `None` keeps what is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstanceChanges {
    /// Where it can be reached, JSON.
    pub address: Option<String>,
    /// What it costs while it exists.
    pub usd_per_hour: Option<NanoUsd>,
    /// The last word about it, for people.
    pub detail: Option<String>,
}

/// Every call below can also fail with [`StoreError::Unavailable`] and
/// [`StoreError::Corrupt`].
impl Store {
    /// Every instance whose absence is not confirmed, oldest first.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn instances(&self) -> Result<Vec<InstanceRow>> {
        let rows = sqlx::query_as("select * from instances where state <> 'gone' order by id");
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// The instance of that id, also when it is gone but not forgotten.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn instance(&self, id: &str) -> Result<Option<InstanceRow>> {
        let row = sqlx::query_as("select * from instances where id = ?").bind(id);
        Ok(row.fetch_optional(&self.readers).await?)
    }

    /// Writes down that an instance will be caused, before it is. Of all who
    /// try for one deployment, tier and slot, one gets the row: the only one
    /// that may ask the provider.
    ///
    /// # Errors
    /// [`StoreError::StartInProgress`] for the others; [`StoreError::NotFound`],
    /// [`StoreError::Deleting`] for the deployment; [`StoreError::Exists`] where
    /// the id was used before.
    pub async fn intend(&self, new: &NewInstance, now: i64) -> Result<InstanceRow> {
        let mut tx = self.begin().await?;
        alive(&mut tx, &new.deployment).await?;
        let row = insert(&mut tx, new, now).await?;
        tx.commit().await?;
        row.ok_or(StoreError::StartInProgress)
    }

    /// The same for a pod, if `allowance` holds it beside every pod that is
    /// written down: starts of several deployments at once never exceed a limit
    /// together.
    ///
    /// # Errors
    /// As [`Store::intend`], and [`StoreError::OverBudget`].
    pub async fn intend_within(
        &self,
        allowance: &Allowance,
        new: &NewInstance,
        now: i64,
    ) -> Result<InstanceRow> {
        let mut tx = self.begin().await?;
        alive(&mut tx, &new.deployment).await?;
        let spending = Spending {
            today: allowance.today,
            this_hour: allowance.this_hour,
            own: committed(&mut tx, Some(&new.deployment), allowance).await?,
            all: committed(&mut tx, None, allowance).await?,
        };
        let at = Calendar::at(now);
        allowance.ceilings.start(&spending, new.usd_per_hour, at)?;
        let row = insert(&mut tx, new, now).await?;
        tx.commit().await?;
        row.ok_or(StoreError::StartInProgress)
    }

    /// Writes its state and what else changed, where `epoch` is still its
    /// epoch; the new epoch, or `None` where the caller is stale and must drop
    /// what it holds.
    ///
    /// # Errors
    /// [`StoreError::StartInProgress`] where it would become a second start in its slot.
    pub async fn advance(
        &self,
        id: &str,
        epoch: i64,
        state: &InstanceState,
        changes: InstanceChanges,
        now: i64,
    ) -> Result<Option<i64>> {
        let mut tx = self.begin().await?;
        let next = sqlx::query_scalar(
            "update instances set
                 state = ?3, provider_id = ?4, epoch = epoch + 1,
                 address = coalesce(?5, address),
                 usd_per_hour = coalesce(?6, usd_per_hour),
                 detail = coalesce(?7, detail),
                 changed_at = iif(state = ?3, changed_at, ?8)
             where id = ?1 and epoch = ?2
             returning epoch",
        )
        .bind(id)
        .bind(epoch)
        .bind(state.as_str())
        .bind(state.provider_id())
        .bind(changes.address)
        .bind(changes.usd_per_hour.map(|price| price.0))
        .bind(changes.detail)
        .bind(now)
        .fetch_optional(&mut *tx)
        .await
        .map_err(|error| match is_taken(&error) {
            true => StoreError::StartInProgress,
            false => error.into(),
        })?;
        tx.commit().await?;
        Ok(next)
    }

    /// Writes what an instance is started from in another text that says the same;
    /// no step of its life, so its epoch stays.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn set_fingerprint(&self, id: &str, fingerprint: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("update instances set fingerprint = ?2 where id = ?1")
            .bind(id)
            .bind(fingerprint)
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }

    /// Removes an instance whose absence was confirmed, where `epoch` is still
    /// its epoch; whether it was removed.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn forget_instance(&self, id: &str, epoch: i64) -> Result<bool> {
        let mut tx = self.begin().await?;
        let done = sqlx::query("delete from instances where id = ? and epoch = ?")
            .bind(id)
            .bind(epoch)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(done.rows_affected() > 0)
    }
}

/// What the pods whose absence is not confirmed commit to, of `deployment` or
/// of all.
async fn committed(
    conn: &mut SqliteConnection,
    deployment: Option<&str>,
    allowance: &Allowance,
) -> Result<Commitment> {
    let pods = sqlx::query(
        "select id, usd_per_hour from instances
         where tier = 'pod' and state <> 'gone' and (?1 is null or deployment = ?1)",
    )
    .bind(deployment)
    .fetch_all(conn)
    .await?;
    let mut prices = Vec::new();
    for pod in &pods {
        if !allowance.unpaid.contains(&pod.try_get::<String, _>("id")?) {
            prices.push(price(pod)?);
        }
    }
    Ok(Commitment::of(prices, allowance.assumed))
}

/// The new row, or `None` where a start in its slot is in progress.
async fn insert(
    conn: &mut SqliteConnection,
    new: &NewInstance,
    now: i64,
) -> Result<Option<InstanceRow>> {
    let row = sqlx::query_as(
        "insert into instances (id, deployment, tier, provider, slot, state, epoch,
             generation, fingerprint, usd_per_hour, placement, detail, created_at, changed_at,
             charged_until)
         values (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?11, '', ?10, ?10, ?10)
         on conflict (deployment, tier, slot) where state in ('intended', 'starting')
             do nothing
         returning *",
    )
    .bind(&new.id)
    .bind(&new.deployment)
    .bind(new.tier.as_str())
    .bind(&new.provider)
    .bind(new.slot)
    .bind(InstanceState::Intended.as_str())
    .bind(new.generation)
    .bind(&new.fingerprint)
    .bind(new.usd_per_hour.map(|price| price.0))
    .bind(now)
    .bind(new.placement.as_deref())
    .fetch_optional(conn)
    .await;
    row.map_err(|error| match is_taken(&error) {
        true => StoreError::Exists(new.id.clone()),
        false => error.into(),
    })
}
