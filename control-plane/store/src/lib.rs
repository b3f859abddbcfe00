//! What outlives the process, in SQLite; the only crate that knows SQL.
//!
//! Every write is one transaction that takes the write lock at its first
//! statement, on the one connection that writes: a transaction that begins as a
//! reader is refused when it turns writer, whatever the busy timeout. A write
//! is done when its future has returned `Ok`, and not before: a future that is
//! dropped earlier leaves either the whole write or nothing of it, and gives
//! its connection back. Readers see the last commit and wait for no writer.
//!
//! The store reads no clock; whoever writes says when it is.
mod backup;
mod dead_letters;
mod decisions;
mod deployments;
mod error;
mod events;
mod gate;
mod installation;
mod instances;
mod ledger;
mod measures;
mod migrate;
mod open;
mod row;
mod secrets;
mod sessions;

pub use dead_letters::{
    DeadLetterCause, DeadLetterFilter, DeadLetterGroup, DeadLetterLimits, DeadLetterRow,
    DeadLetterState, NewDeadLetter,
};
pub use decisions::NewDecision;
pub use deployments::NewDeployment;
pub use error::{Result, StoreError};
pub use events::NewEvent;
pub use gate::{Gate, Stage};
pub use instances::{Allowance, InstanceChanges, NewInstance};
pub use ledger::{Charged, LedgerEntry, Postings, SlotArrivals, WhatIfEntry};
pub use measures::{Measure, MeasureRow};
pub use row::{DecisionRow, DeploymentRow, EventRow, InstanceRow};
pub use secrets::SecretRow;
pub use sessions::SessionRow;

use sqlx::SqlitePool;

/// The database; clones share its connections.
#[derive(Debug, Clone)]
pub struct Store {
    /// One connection, so that writers queue here and not at SQLite's lock.
    writer: SqlitePool,
    readers: SqlitePool,
    gate: Option<Gate>,
}

impl Store {
    /// Whether the database answers.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] where it does not.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("select owner from installation")
            .fetch_one(&self.readers)
            .await?;
        Ok(())
    }

    /// Ends once every connection is closed; later calls are [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
