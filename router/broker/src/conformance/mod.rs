//! The clauses that every broker must keep, whatever is behind it.
//!
//! [`run`] tries each on queues of its own, through a [`Subject`] that lets
//! time pass and breaks what has to break.

#[cfg(test)]
mod flaws;
mod letters;
mod loss;
mod order;
mod queues;
mod settling;
mod stage;
mod topics;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::{Broker, Limits};
use stage::Stage;

/// A broker on trial, and the world around it.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The broker.
    fn broker(&self) -> &dyn Broker;

    /// The same for another installation.
    fn stranger(&self) -> &dyn Broker;

    /// What bounds its queues; small numbers, so that the trial ends.
    fn limits(&self) -> Limits;

    /// Lets time pass.
    async fn pass(&self, time: Duration);

    /// Whoever holds a delivery dies or is cut off, and the broker notices:
    /// what they held is delivered again.
    async fn lose_holders(&self);
}

/// One thing that every broker must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clause {
    /// Its stable name, as in `retry-spaced`.
    pub name: &'static str,
    /// What it asks, in one sentence.
    pub description: &'static str,
}

/// A clause and how the broker did on it: what was seen, where it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What was asked.
    pub clause: Clause,
    /// What came of it.
    pub outcome: Result<(), String>,
}

/// Every verdict of a run, in the order of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// Whether no clause failed.
    pub fn passed(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.outcome.is_ok())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdicts.iter().try_for_each(|verdict| {
            let Clause { name, description } = verdict.clause;
            match &verdict.outcome {
                Ok(()) => writeln!(f, "pass {name}"),
                Err(seen) => writeln!(f, "FAIL {name}: {description} Seen: {seen}"),
            }
        })
    }
}

/// What trying a clause gives.
type Checked<T = ()> = Result<T, String>;

/// A clause with its trial.
struct Trial {
    clause: Clause,
    check: for<'s> fn(&'s Stage<'s>) -> BoxFuture<'s, Checked>,
}

/// `name: "description" => check` as a trial.
macro_rules! trial {
    ($name:literal, $description:literal, $check:path) => {
        crate::conformance::Trial {
            clause: crate::conformance::Clause {
                name: $name,
                description: $description,
            },
            check: |stage| Box::pin($check(stage)),
        }
    };
}
use trial;

/// Tries every clause on `subject`, one after the other.
pub async fn run(subject: &dyn Subject) -> Report {
    let groups = [
        order::TRIALS,
        settling::TRIALS,
        loss::TRIALS,
        queues::TRIALS,
        letters::TRIALS,
        topics::TRIALS,
    ];
    let mut report = Report::default();
    for trial in groups.into_iter().flatten() {
        let stage = Stage::new(subject, trial.clause.name);
        report.verdicts.push(Verdict {
            clause: trial.clause,
            outcome: (trial.check)(&stage).await,
        });
    }
    report
}
