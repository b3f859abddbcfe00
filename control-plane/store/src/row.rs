//! What the tables hold, read back.

use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row};
use thermocline_policy::{InstanceState, NanoUsd, Tier};

/// What a user asked to serve, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentRow {
    /// Its name, unique.
    pub name: String,
    /// From 1, one more with every change of the specification.
    pub generation: i64,
    /// The specification, canonical JSON.
    pub spec: String,
    /// Whether a person put it to sleep.
    pub stopped: bool,
    /// Whether it is being torn down.
    pub deleting: bool,
    /// The tier that it was last on; outlives a restart.
    pub tier: Option<Tier>,
    /// Microseconds since 1970, UTC.
    pub created_at: i64,
    /// When a person last changed it; microseconds since 1970, UTC.
    pub updated_at: i64,
}

/// One thing that we caused to exist, or are about to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRow {
    /// A ULID, ours.
    pub id: String,
    /// The deployment that it serves.
    pub deployment: String,
    /// How it is paid for.
    pub tier: Tier,
    /// Who runs it, by its name in the configuration.
    pub provider: String,
    /// Its place among the instances of its deployment and tier, from 0.
    pub slot: u32,
    /// Where it stands.
    pub state: InstanceState,
    /// The fence: one more with every write.
    pub epoch: i64,
    /// The deployment's generation that it was started for.
    pub generation: i64,
    /// What of the specification it was started with.
    pub fingerprint: String,
    /// Where it can be reached, JSON, once known.
    pub address: Option<String>,
    /// Which GPUs of this machine it has and how much of them, JSON; for local ones.
    pub placement: Option<String>,
    /// What it costs while it exists, where that is known.
    pub usd_per_hour: Option<NanoUsd>,
    /// The last word about it, for people.
    pub detail: String,
    /// Microseconds since 1970, UTC.
    pub created_at: i64,
    /// Since when it is in its state; microseconds since 1970, UTC.
    pub changed_at: i64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its place in the order of all events, from 1; never used again.
    pub seq: i64,
    /// Microseconds since 1970, UTC.
    pub at: i64,
    /// What kind of thing.
    pub kind: String,
    /// The deployment that it is about, where it is about one.
    pub deployment: Option<String>,
    /// The rest, JSON.
    pub body: String,
}

/// A transition between tiers, done or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its number, unique over all deployments.
    pub id: i64,
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

impl FromRow<'_, SqliteRow> for DeploymentRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(DeploymentRow {
            name: row.try_get("name")?,
            generation: row.try_get("generation")?,
            spec: row.try_get("spec")?,
            stopped: row.try_get("stopped")?,
            deleting: row.try_get("deleting")?,
            tier: optional_tier(row, "tier")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

/// What it costs an hour; unknown where that is no price that anybody could ask.
pub(crate) fn price(row: &SqliteRow) -> sqlx::Result<Option<NanoUsd>> {
    let price: Option<i64> = row.try_get("usd_per_hour")?;
    let believed = |price: &NanoUsd| (NanoUsd(0)..=NanoUsd::HIGHEST_PRICE).contains(price);
    Ok(price.map(NanoUsd).filter(believed))
}

impl FromRow<'_, SqliteRow> for InstanceRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(InstanceRow {
            id: row.try_get("id")?,
            deployment: row.try_get("deployment")?,
            tier: tier(row, "tier")?,
            provider: row.try_get("provider")?,
            slot: row.try_get("slot")?,
            state: state(row)?,
            epoch: row.try_get("epoch")?,
            generation: row.try_get("generation")?,
            fingerprint: row.try_get("fingerprint")?,
            address: row.try_get("address")?,
            placement: row.try_get("placement")?,
            usd_per_hour: price(row)?,
            detail: row.try_get("detail")?,
            created_at: row.try_get("created_at")?,
            changed_at: row.try_get("changed_at")?,
        })
    }
}

impl FromRow<'_, SqliteRow> for EventRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(EventRow {
            seq: row.try_get("seq")?,
            at: row.try_get("at")?,
            kind: row.try_get("kind")?,
            deployment: row.try_get("deployment")?,
            body: row.try_get("body")?,
        })
    }
}

impl FromRow<'_, SqliteRow> for DecisionRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(DecisionRow {
            id: row.try_get("id")?,
            deployment: row.try_get("deployment")?,
            at: row.try_get("at")?,
            from: optional_tier(row, "from_tier")?,
            to: tier(row, "to_tier")?,
            reason: row.try_get("reason")?,
            refused: row.try_get("refused")?,
            inputs: row.try_get("inputs")?,
        })
    }
}

pub(crate) fn tier(row: &SqliteRow, column: &'static str) -> sqlx::Result<Tier> {
    optional_tier(row, column)?.ok_or_else(|| unreadable(column))
}

fn optional_tier(row: &SqliteRow, column: &'static str) -> sqlx::Result<Option<Tier>> {
    let word: Option<&str> = row.try_get(column)?;
    word.map(|word| word.parse().map_err(|()| unreadable(column)))
        .transpose()
}

fn state(row: &SqliteRow) -> sqlx::Result<InstanceState> {
    InstanceState::from_parts(row.try_get("state")?, row.try_get("provider_id")?)
        .ok_or_else(|| unreadable("state"))
}

pub(crate) fn unreadable(column: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(format!("no such value of `{column}`").into())
}
