//! GPU memory of this machine: what is promised to whom.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// Reservations against a known total.
#[derive(Debug)]
pub(crate) struct Memory {
    total: u64,
    reserved: Mutex<HashMap<String, u64>>,
}

impl Memory {
    /// `total` bytes, nothing promised.
    pub(crate) fn new(total: u64) -> Self {
        Memory {
            total,
            reserved: Mutex::default(),
        }
    }

    /// Whether `need` bytes could be promised now.
    pub(crate) fn fits(&self, need: u64) -> bool {
        self.free(&self.lock()) >= need
    }

    /// Promises `need` bytes to `instance`, unless they are not there.
    pub(crate) fn reserve(&self, instance: &str, need: u64) -> bool {
        let mut reserved = self.lock();
        if self.free(&reserved) < need {
            return false;
        }
        reserved.insert(instance.to_owned(), need);
        true
    }

    /// Counts what `instance` already holds, whether it fits or not.
    pub(crate) fn adopt(&self, instance: &str, need: u64) {
        self.lock().insert(instance.to_owned(), need);
    }

    /// Takes `instance`'s promise back.
    pub(crate) fn release(&self, instance: &str) {
        self.lock().remove(instance);
    }

    fn free(&self, reserved: &HashMap<String, u64>) -> u64 {
        self.total.saturating_sub(reserved.values().sum())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.reserved.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_never_exceed_the_total() {
        let memory = Memory::new(24);
        assert!(memory.reserve("a", 11) && memory.reserve("b", 11));
        assert!(!memory.fits(3) && !memory.reserve("c", 3));
        memory.release("a");
        assert!(memory.reserve("c", 13));
        assert!(!memory.fits(1));
    }
}
