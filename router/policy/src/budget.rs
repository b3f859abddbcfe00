//! What budgets and ceilings leave: which starts they refuse, and what they stop.
//!
//! A pod commits to its price: it is paid as long as it exists, so it is held
//! against a limit before it is started, for an hour. Serverless commits to
//! nothing: it is held against what has been spent.

mod calendar;
mod day;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::NanoUsd;
pub use calendar::Calendar;
use day::Day;

/// A start is held against a day's budget with so much of its price.
const COMMITTED: Duration = Duration::from_secs(3600);
/// So much of what live pods cost is kept back of a day's budget, for the time
/// that draining and deleting them takes.
const RESERVE: Duration = Duration::from_secs(120);
/// A pod that a budget stops is given so long to end its work in hand.
pub const LAST_WORK: Duration = Duration::from_secs(60);

/// What a budget forbids in a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Brake {
    /// Nothing.
    #[default]
    Off,
    /// Another instance.
    NoStart,
    /// Any work: pods that run are stopped.
    Stop,
}

/// The limits on what may be paid; `None` = none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ceilings {
    /// For one deployment, within each day of UTC.
    pub usd_per_day: Option<NanoUsd>,
    /// For all deployments together: within each hour of UTC, and an hour.
    pub usd_per_hour: Option<NanoUsd>,
    /// Live pods of all deployments together.
    pub instances: Option<u32>,
}

/// What live pods commit to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Commitment {
    /// What they cost together while they exist.
    pub usd_per_hour: NanoUsd,
    /// How many they are.
    pub instances: u32,
    /// How many of them have no known price.
    pub unpriced: u32,
}

impl Commitment {
    /// What pods of these prices commit to; `assumed` stands for one that nobody knows.
    pub fn of(prices: impl IntoIterator<Item = Option<NanoUsd>>, assumed: Option<NanoUsd>) -> Self {
        let mut sum = Commitment::default();
        for price in prices {
            sum.instances += 1;
            match price.or(assumed) {
                Some(price) => sum.usd_per_hour += price,
                None => sum.unpriced += 1,
            }
        }
        sum
    }
}

/// What counts against the limits at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// By the deployment, since midnight UTC.
    pub today: NanoUsd,
    /// By all deployments, since the hour of UTC began.
    pub this_hour: NanoUsd,
    /// The deployment's live pods.
    pub own: Commitment,
    /// The live pods of all deployments.
    pub all: Commitment,
}

/// Why a limit refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OverBudget {
    /// The deployment's budget of the day.
    #[error("its budget of {limit} a day: {spent} is spent, {needed} more would be committed")]
    Day {
        /// The budget.
        limit: NanoUsd,
        /// What is spent of it.
        spent: NanoUsd,
        /// What would have to be left.
        needed: NanoUsd,
        /// When it would fit, if nothing more were spent; `None` = never.
        /// Microseconds since 1970, UTC.
        fits_at: Option<i64>,
    },
    /// The server's ceiling of the hour.
    #[error(
        "the server's ceiling of {limit} an hour: {spent} is spent in this hour, {needed} more would be committed"
    )]
    Hour {
        /// The ceiling.
        limit: NanoUsd,
        /// What is spent of it in this hour.
        spent: NanoUsd,
        /// What would have to be left.
        needed: NanoUsd,
    },
    /// The server's ceiling of the hour, which live pods alone would pass.
    #[error("the server's ceiling of {limit} an hour: {}", rate(*pods, *more))]
    Rate {
        /// The ceiling.
        limit: NanoUsd,
        /// What all pods cost an hour that may exist.
        pods: NanoUsd,
        /// What one more would cost an hour.
        more: NanoUsd,
    },
    /// The server's number of paid instances.
    #[error("the server's limit of {limit} paid instances is reached")]
    Instances {
        /// The limit.
        limit: u32,
    },
    /// Nobody knows what it would cost, or what another costs that counts.
    #[error("a price is unknown, so it cannot be held against a budget")]
    Unpriced,
}

impl OverBudget {
    /// How long until it is worth asking again at `at`, at most two minutes:
    /// a limit of the server's may be free again at any time.
    pub fn retry_after(&self, at: Calendar) -> Duration {
        match self {
            OverBudget::Day { .. } => at.rest_of_day().min(Duration::from_secs(120)),
            OverBudget::Hour { .. }
            | OverBudget::Rate { .. }
            | OverBudget::Instances { .. }
            | OverBudget::Unpriced => at.rest_of_hour().min(Duration::from_secs(30)),
        }
    }
}

impl Ceilings {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Ceilings::default()
    }

    /// Why one more pod at `usd_per_hour` may not be started at `at`.
    ///
    /// # Errors
    /// The first limit that refuses it.
    pub fn start(
        &self,
        spending: &Spending,
        usd_per_hour: Option<NanoUsd>,
        at: Calendar,
    ) -> Result<(), OverBudget> {
        self.one_more(&spending.all)?;
        if self.usd_per_day.is_none() && self.usd_per_hour.is_none() {
            return Ok(());
        }
        let price = usd_per_hour.ok_or(OverBudget::Unpriced)?;
        self.fits_day(spending, price, COMMITTED, at)?;
        self.fits_hour(spending, price, at)
    }

    /// Why pods that run may not stay at `at`. Those above a ceiling of the
    /// server's are another matter: see [`Ceilings::kept`].
    ///
    /// # Errors
    /// The day's budget.
    pub fn stay(&self, spending: &Spending, at: Calendar) -> Result<(), OverBudget> {
        self.fits_day(spending, NanoUsd(0), RESERVE, at)
    }

    /// Why serverless may take no work at `at`; `priced` tells whether it is
    /// known what that costs.
    ///
    /// # Errors
    /// The first limit that refuses it.
    pub fn work(&self, spending: &Spending, priced: bool, at: Calendar) -> Result<(), OverBudget> {
        if (self.usd_per_day.is_some() || self.usd_per_hour.is_some()) && !priced {
            return Err(OverBudget::Unpriced);
        }
        self.stay(spending, at)?;
        let Some(limit) = self.usd_per_hour else {
            return Ok(());
        };
        let needed = over(spending.all.usd_per_hour, at.rest_of_hour());
        let spent = spending.this_hour;
        match spent + needed < limit {
            true => Ok(()),
            false => Err(OverBudget::Hour {
                limit,
                spent,
                needed,
            }),
        }
    }

    /// How many of the pods that run, given their prices from the oldest on,
    /// the server's ceilings leave.
    pub fn kept(&self, oldest_first: impl IntoIterator<Item = NanoUsd>) -> usize {
        let mut all = Commitment::default();
        let fits = |price: &NanoUsd| {
            all.usd_per_hour += *price;
            all.instances += 1;
            self.usd_per_hour
                .is_none_or(|limit| all.usd_per_hour <= limit)
                && self.instances.is_none_or(|limit| all.instances <= limit)
        };
        oldest_first.into_iter().take_while(fits).count()
    }

    fn one_more(&self, all: &Commitment) -> Result<(), OverBudget> {
        match self.instances {
            Some(limit) if all.instances >= limit => Err(OverBudget::Instances { limit }),
            _ => Ok(()),
        }
    }

    /// Whether the day's budget holds the deployment's pods and one more at
    /// `price` for `span` or what is left of the day; tomorrow's must hold their end.
    fn fits_day(
        &self,
        spending: &Spending,
        price: NanoUsd,
        span: Duration,
        at: Calendar,
    ) -> Result<(), OverBudget> {
        let Some(limit) = self.usd_per_day else {
            return Ok(());
        };
        if spending.own.unpriced > 0 {
            return Err(OverBudget::Unpriced);
        }
        let day = Day {
            limit,
            spent: spending.today,
            rate: spending.own.usd_per_hour + price,
            span,
        };
        match day.fits(at) {
            true => Ok(()),
            false => Err(day.over(at)),
        }
    }

    /// Whether the hour's ceiling holds all pods and one more at `price`: in
    /// this hour with what is spent, and in those that follow.
    fn fits_hour(
        &self,
        spending: &Spending,
        price: NanoUsd,
        at: Calendar,
    ) -> Result<(), OverBudget> {
        let Some(limit) = self.usd_per_hour else {
            return Ok(());
        };
        if spending.all.unpriced > 0 {
            return Err(OverBudget::Unpriced);
        }
        let (pods, more) = (spending.all.usd_per_hour, price);
        let rate = pods + more;
        if rate > limit {
            return Err(OverBudget::Rate { limit, pods, more });
        }
        let needed = over(rate, at.rest_of_hour());
        let spent = spending.this_hour;
        match spent + needed <= limit {
            true => Ok(()),
            false => Err(OverBudget::Hour {
                limit,
                spent,
                needed,
            }),
        }
    }
}

/// What a price an hour comes to over `span`, rounded up.
fn over(usd_per_hour: NanoUsd, span: Duration) -> NanoUsd {
    let micros = i128::try_from(span.as_micros()).unwrap_or(i128::MAX);
    let sum = (i128::from(usd_per_hour.0) * micros + 3_599_999_999) / 3_600_000_000;
    NanoUsd(i64::try_from(sum).unwrap_or(i64::MAX))
}

fn rate(pods: NanoUsd, more: NanoUsd) -> String {
    match (pods, more) {
        (_, NanoUsd(0)) => format!("its pods cost {pods} an hour together"),
        (NanoUsd(0), _) => format!("a pod would cost {more} an hour"),
        _ => format!("its pods cost {pods} an hour, and one more would cost {more}"),
    }
}

#[cfg(test)]
mod tests;
