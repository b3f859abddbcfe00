use std::fmt;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::Arc;

use sqlx::{Sqlite, SqliteConnection, Transaction};

use crate::{Result, Store};

type Pass = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Where a write passes its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before it takes the write lock: nothing of it has happened.
    BeforeWrite,
    /// After its commit: all of it has.
    AfterCommit,
}

/// What each write passes before it begins and after it was committed; its
/// error is then the write's.
#[derive(Clone)]
pub struct Gate(Arc<dyn Fn(Stage) -> Pass + Send + Sync>);

impl Gate {
    /// A gate that `pass` opens, write by write.
    pub fn new<F, P>(pass: F) -> Self
    where
        F: Fn(Stage) -> P + Send + Sync + 'static,
        P: Future<Output = Result<()>> + Send + 'static,
    {
        Gate(Arc::new(move |stage| Box::pin(pass(stage))))
    }

    async fn passed(&self, stage: Stage) -> Result<()> {
        (self.0)(stage).await
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

/// One write: a transaction that holds the write lock.
pub(crate) struct Write {
    transaction: Transaction<'static, Sqlite>,
    gate: Option<Gate>,
}

impl Write {
    pub(crate) async fn commit(self) -> Result<()> {
        self.transaction.commit().await?;
        match &self.gate {
            Some(gate) => gate.passed(Stage::AfterCommit).await,
            None => Ok(()),
        }
    }
}

impl Deref for Write {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.transaction
    }
}

impl DerefMut for Write {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }
}

impl Store {
    /// The same database behind `gate`.
    pub fn behind(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// A transaction that holds the write lock from its beginning. Single
    /// statements need it too: the error of an implicit commit would be lost
    /// where the statement returns a row.
    pub(crate) async fn begin(&self) -> Result<Write> {
        if let Some(gate) = &self.gate {
            gate.passed(Stage::BeforeWrite).await?;
        }
        Ok(Write {
            transaction: self.writer.begin_with("begin immediate").await?,
            gate: self.gate.clone(),
        })
    }
}
