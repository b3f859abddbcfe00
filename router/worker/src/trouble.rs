use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One thing that goes wrong, with the broker or the runtime, however often it is
/// tried: told when it begins, and when it ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trouble(Arc<AtomicBool>);

impl Trouble {
    /// It went wrong; whether it had not done so before.
    pub(crate) fn begins(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// It went well; whether it had gone wrong before.
    pub(crate) fn ends(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_when_it_begins_and_when_it_ends() {
        let trouble = Trouble::default();
        assert!(!trouble.ends());
        assert_eq!([(); 3].map(|()| trouble.begins()), [true, false, false]);
        assert_eq!([(); 2].map(|()| trouble.ends()), [true, false]);
        assert!(trouble.begins());
    }
}
