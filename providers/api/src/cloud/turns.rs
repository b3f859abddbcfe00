use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

type Turn = Arc<tokio::sync::Mutex<()>>;

/// One create per key at a time.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<String, Turn>>);

impl Turns {
    /// Waits until nobody else creates `key`; it is ours until the guard drops.
    pub async fn take(&self, key: &str) -> OwnedMutexGuard<()> {
        self.turn(key).lock_owned().await
    }

    fn turn(&self, key: &str) -> Turn {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(key.to_owned()).or_default().clone()
    }
}
