use std::sync::Arc;

use tokio::sync::watch;

/// Something that happens once, when the test says so.
#[derive(Debug, Clone)]
pub struct Latch(Arc<watch::Sender<bool>>);

impl Latch {
    /// A latch that is still closed.
    pub fn new() -> Self {
        Latch(Arc::new(watch::Sender::new(false)))
    }

    /// Lets everyone pass who waits or will.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was opened.
    pub fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when it is opened; at once when it was.
    pub async fn opened(&self) {
        let mut state = self.0.subscribe();
        // Never an error: `self` holds the sender.
        let _ = state.wait_for(|open| *open).await;
    }
}

impl Default for Latch {
    fn default() -> Self {
        Latch::new()
    }
}
