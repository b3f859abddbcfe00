use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::{Result, Store};

type Pass = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// What each write passes before it takes the write lock; its error is then
/// the write's.
#[derive(Clone)]
pub struct Gate(Arc<dyn Fn() -> Pass + Send + Sync>);

impl Gate {
    /// A gate that `pass` opens, write by write.
    pub fn new<F, P>(pass: F) -> Self
    where
        F: Fn() -> P + Send + Sync + 'static,
        P: Future<Output = Result<()>> + Send + 'static,
    {
        Gate(Arc::new(move || Box::pin(pass())))
    }

    pub(crate) async fn passed(&self) -> Result<()> {
        (self.0)().await
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Store {
    /// The same database behind `gate`.
    pub fn behind(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }
}
