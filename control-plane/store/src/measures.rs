use sqlx::Row;
use thermocline_policy::Tier;

use crate::error::is_dangling;
use crate::row::tier;
use crate::{Result, Store};

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// How long backends had requests in hand.
    Service,
    /// How long starts took.
    Start,
    /// How long requests took that found no worker up.
    Woken,
}

impl Measure {
    const fn as_str(self) -> &'static str {
        match self {
            Measure::Service => "service",
            Measure::Start => "start",
            Measure::Woken => "woken",
        }
    }
}

/// Durations of one tier of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureRow {
    /// The deployment.
    pub deployment: String,
    /// The tier.
    pub tier: Tier,
    /// What was measured.
    pub what: Measure,
    /// Milliseconds, and how often.
    pub counts: Vec<(u64, u32)>,
}

/// Every call below can fail with
/// [`StoreError::Unavailable`](crate::StoreError::Unavailable) and
/// [`StoreError::Corrupt`](crate::StoreError::Corrupt) alone.
impl Store {
    /// Writes measures down in place of earlier ones; those of a deployment that
    /// is forgotten are left out.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn save_measures(&self, rows: &[MeasureRow]) -> Result<()> {
        let mut tx = self.begin().await?;
        for row in rows {
            let counts = written(&row.counts);
            let saved = sqlx::query(
                "insert or replace into measures (deployment, tier, what, counts)
                 values (?, ?, ?, ?)",
            )
            .bind(&row.deployment)
            .bind(row.tier.as_str())
            .bind(row.what.as_str())
            .bind(counts)
            .execute(&mut *tx)
            .await;
            match saved {
                Err(error) if !is_dangling(&error) => return Err(error.into()),
                _ => {}
            }
        }
        tx.commit().await
    }

    /// Every measure.
    ///
    /// # Errors
    /// Only the common ones.
    pub async fn measures(&self) -> Result<Vec<MeasureRow>> {
        let rows = sqlx::query("select * from measures")
            .fetch_all(&self.readers)
            .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let what: String = row.try_get("what")?;
            let counts: String = row.try_get("counts")?;
            Ok(MeasureRow {
                deployment: row.try_get("deployment")?,
                tier: tier(row, "tier")?,
                what: match what.as_str() {
                    "start" => Measure::Start,
                    "woken" => Measure::Woken,
                    _ => Measure::Service,
                },
                counts: read_back(&counts),
            })
        };
        Ok(rows.iter().map(read).collect::<sqlx::Result<_>>()?)
    }
}

/// As in `250:2 9000:1`.
fn written(counts: &[(u64, u32)]) -> String {
    let pairs: Vec<String> = counts
        .iter()
        .map(|(millis, count)| format!("{millis}:{count}"))
        .collect();
    pairs.join(" ")
}

/// What cannot be read is left out: a measure is no more than that.
fn read_back(counts: &str) -> Vec<(u64, u32)> {
    let pairs = counts.split(' ').filter_map(|pair| pair.split_once(':'));
    pairs
        .filter_map(|(millis, count)| Some((millis.parse().ok()?, count.parse().ok()?)))
        .collect()
}
