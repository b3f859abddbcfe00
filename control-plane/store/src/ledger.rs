mod charged;

use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row, SqliteConnection};
use thermocline_policy::{NanoUsd, Tier};

use crate::row::tier;
use crate::{Result, Store};

pub use charged::Charged;
use charged::set_charged;

/// The sum of a column of a group's whole numbers, none of them negative, that stays at
/// the largest number where SQL's own sum is an error: in two halves of 32 bits.
macro_rules! sum {
    ($column:literal) => {
        concat!(
            "iif(sum(",
            $column,
            " >> 32) + (sum(",
            $column,
            " & 4294967295) >> 32) > 2147483647,
                 9223372036854775807,
                 (sum(",
            $column,
            " >> 32) << 32) + sum(",
            $column,
            " & 4294967295))"
        )
    };
}

/// `column` and what is to be inserted, none of them negative, at most the largest number.
macro_rules! grown {
    ($column:literal) => {
        concat!(
            $column,
            " = iif(",
            $column,
            " > 9223372036854775807 - excluded.",
            $column,
            ",
                 9223372036854775807, ",
            $column,
            " + excluded.",
            $column,
            ")"
        )
    };
}

/// What one tier of a deployment cost within one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Hours since 1970, UTC.
    pub hour: i64,
    /// The deployment.
    pub deployment: String,
    /// How it was paid for.
    pub tier: Tier,
    /// Who was paid, by its name in the configuration.
    pub provider: String,
    /// Instances or workers times how long they were paid for, microseconds.
    pub micros: i64,
    /// What that cost.
    pub cost: NanoUsd,
    /// Of that, for time without a request in hand.
    pub idle: NanoUsd,
}

/// What the same arrivals would have cost otherwise, within one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIfEntry {
    /// Hours since 1970, UTC.
    pub hour: i64,
    /// The deployment.
    pub deployment: String,
    /// Requests.
    pub arrivals: i64,
    /// As it was, while that was compared.
    pub paid: NanoUsd,
    /// On serverless alone.
    pub serverless: NanoUsd,
    /// On a pod alone.
    pub pod: NanoUsd,
    /// At best, with hindsight.
    pub optimum: NanoUsd,
}

/// Requests within one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotArrivals {
    /// Slots of ten seconds since 1970, UTC.
    pub slot: i64,
    /// The deployment.
    pub deployment: String,
    /// How many, above 0.
    pub arrivals: i64,
}

/// What is added to the books at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Postings {
    /// What was paid.
    pub ledger: Vec<LedgerEntry>,
    /// What would have been.
    pub what_if: Vec<WhatIfEntry>,
    /// What came.
    pub arrivals: Vec<SlotArrivals>,
    /// Until when that is all of what instances cost; the last of several counts.
    pub charged: Vec<Charged>,
}

impl Postings {
    /// Adds what `others` holds.
    pub fn append(&mut self, mut others: Postings) {
        self.ledger.append(&mut others.ledger);
        self.what_if.append(&mut others.what_if);
        self.arrivals.append(&mut others.arrivals);
        self.charged.append(&mut others.charged);
    }
}

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) and
/// [`StoreError::Corrupt`](crate::StoreError::Corrupt) alone.
impl Store {
    /// Adds amounts to those that are there, all or none, and drops arrivals of
    /// slots before `oldest_slot`.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn post(&self, postings: &Postings, oldest_slot: i64) -> Result<()> {
        let mut tx = self.begin().await?;
        for entry in &postings.ledger {
            add_paid(&mut tx, entry).await?;
        }
        for entry in &postings.what_if {
            add_what_if(&mut tx, entry).await?;
        }
        for entry in &postings.arrivals {
            add_arrivals(&mut tx, entry).await?;
        }
        for charged in &postings.charged {
            set_charged(&mut tx, charged).await?;
        }
        sqlx::query("delete from arrivals where slot < ?")
            .bind(oldest_slot)
            .execute(&mut *tx)
            .await?;
        tx.commit().await
    }

    /// What was paid from hour `from` to hour `to`, that one excluded.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn ledger(&self, from: i64, to: i64) -> Result<Vec<LedgerEntry>> {
        let rows = sqlx::query_as("select * from ledger where hour >= ? and hour < ?");
        Ok(rows.bind(from).bind(to).fetch_all(&self.readers).await?)
    }

    /// What would have been paid from hour `from` to hour `to`, that one excluded.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn what_if(&self, from: i64, to: i64) -> Result<Vec<WhatIfEntry>> {
        let rows = sqlx::query_as("select * from what_if where hour >= ? and hour < ?");
        Ok(rows.bind(from).bind(to).fetch_all(&self.readers).await?)
    }

    /// Everything ever compared, summed over the hours.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn compared(&self) -> Result<Vec<WhatIfEntry>> {
        let rows = sqlx::query_as(concat!(
            "select 0 as hour, deployment, sum(arrivals) as arrivals, ",
            sum!("paid_nano_usd"),
            " as paid_nano_usd, ",
            sum!("serverless_nano_usd"),
            " as serverless_nano_usd, ",
            sum!("pod_nano_usd"),
            " as pod_nano_usd, ",
            sum!("optimum_nano_usd"),
            " as optimum_nano_usd from what_if group by deployment",
        ));
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// What came from slot `from` on, in order.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn arrivals(&self, from: i64) -> Result<Vec<SlotArrivals>> {
        let rows = sqlx::query_as("select * from arrivals where slot >= ? order by slot");
        Ok(rows.bind(from).fetch_all(&self.readers).await?)
    }

    /// What came for `deployment` from slot `from` on, in order.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn arrivals_of(&self, deployment: &str, from: i64) -> Result<Vec<SlotArrivals>> {
        let rows = sqlx::query_as(
            "select * from arrivals where slot >= ? and deployment = ? order by slot",
        );
        let rows = rows.bind(from).bind(deployment);
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// Everything ever paid, summed over the hours.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn paid(&self) -> Result<Vec<LedgerEntry>> {
        let rows = sqlx::query_as(concat!(
            "select 0 as hour, deployment, tier, provider, ",
            sum!("micros"),
            " as micros, ",
            sum!("nano_usd"),
            " as nano_usd, ",
            sum!("idle_nano_usd"),
            " as idle_nano_usd
                 from ledger group by deployment, tier, provider",
        ));
        Ok(rows.fetch_all(&self.readers).await?)
    }

    /// What `deployment` (`None`: all of them) has cost since hour `from`.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn spent(&self, deployment: Option<&str>, from: i64) -> Result<NanoUsd> {
        let sum = sqlx::query_scalar(concat!(
            "select coalesce(",
            sum!("nano_usd"),
            ", 0) from ledger
                 where hour >= ?2 and (?1 is null or deployment = ?1)",
        ));
        let sum = sum.bind(deployment).bind(from);
        Ok(NanoUsd(sum.fetch_one(&self.readers).await?))
    }
}

async fn add_paid(conn: &mut SqliteConnection, entry: &LedgerEntry) -> Result<()> {
    sqlx::query(concat!(
        "insert into ledger (hour, deployment, tier, provider, micros, nano_usd, idle_nano_usd)
             values (?, ?, ?, ?, ?, ?, ?)
             on conflict do update set ",
        grown!("micros"),
        ", ",
        grown!("nano_usd"),
        ", ",
        grown!("idle_nano_usd"),
    ))
    .bind(entry.hour)
    .bind(&entry.deployment)
    .bind(entry.tier.as_str())
    .bind(&entry.provider)
    .bind(entry.micros)
    .bind(entry.cost.0)
    .bind(entry.idle.0)
    .execute(conn)
    .await?;
    Ok(())
}

async fn add_what_if(conn: &mut SqliteConnection, entry: &WhatIfEntry) -> Result<()> {
    sqlx::query(concat!(
        "insert into what_if (hour, deployment, arrivals, paid_nano_usd, serverless_nano_usd,
                 pod_nano_usd, optimum_nano_usd) values (?, ?, ?, ?, ?, ?, ?)
             on conflict do update set arrivals = arrivals + excluded.arrivals, ",
        grown!("paid_nano_usd"),
        ", ",
        grown!("serverless_nano_usd"),
        ", ",
        grown!("pod_nano_usd"),
        ", ",
        grown!("optimum_nano_usd"),
    ))
    .bind(entry.hour)
    .bind(&entry.deployment)
    .bind(entry.arrivals)
    .bind(entry.paid.0)
    .bind(entry.serverless.0)
    .bind(entry.pod.0)
    .bind(entry.optimum.0)
    .execute(conn)
    .await?;
    Ok(())
}

async fn add_arrivals(conn: &mut SqliteConnection, entry: &SlotArrivals) -> Result<()> {
    sqlx::query(
        "insert into arrivals (slot, deployment, arrivals) values (?, ?, ?)
         on conflict do update set arrivals = arrivals + excluded.arrivals",
    )
    .bind(entry.slot)
    .bind(&entry.deployment)
    .bind(entry.arrivals)
    .execute(conn)
    .await?;
    Ok(())
}

impl FromRow<'_, SqliteRow> for LedgerEntry {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(LedgerEntry {
            hour: row.try_get("hour")?,
            deployment: row.try_get("deployment")?,
            tier: tier(row, "tier")?,
            provider: row.try_get("provider")?,
            micros: row.try_get("micros")?,
            cost: NanoUsd(row.try_get("nano_usd")?),
            idle: NanoUsd(row.try_get("idle_nano_usd")?),
        })
    }
}

impl FromRow<'_, SqliteRow> for WhatIfEntry {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let money = |column| row.try_get(column).map(NanoUsd);
        Ok(WhatIfEntry {
            hour: row.try_get("hour")?,
            deployment: row.try_get("deployment")?,
            arrivals: row.try_get("arrivals")?,
            paid: money("paid_nano_usd")?,
            serverless: money("serverless_nano_usd")?,
            pod: money("pod_nano_usd")?,
            optimum: money("optimum_nano_usd")?,
        })
    }
}

impl FromRow<'_, SqliteRow> for SlotArrivals {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(SlotArrivals {
            slot: row.try_get("slot")?,
            deployment: row.try_get("deployment")?,
            arrivals: row.try_get("arrivals")?,
        })
    }
}
