//! Reads the GPUs again and again.

use std::sync::Arc;
use std::time::Duration;

use crate::control::ControlPlane;

/// Between two readings while there are GPUs.
const EVERY: Duration = Duration::from_secs(2);
/// Between two looks whether there are any.
const SELDOM: Duration = Duration::from_secs(30);
/// Between two readings that something asked for.
const AT_MOST: Duration = Duration::from_millis(200);

impl ControlPlane {
    /// Reads the GPUs of this machine until the shutdown.
    pub(crate) async fn watch_gpus(self: Arc<Self>) {
        loop {
            let pause = match self.machine.books().has_gpus() {
                true => EVERY,
                false => SELDOM,
            };
            tokio::select! {
                () = self.clock.sleep(pause) => {}
                () = self.machine.look.notified() => self.clock.sleep(AT_MOST).await,
                () = self.drain.cancelled() => return,
            }
            self.read_gpus().await;
        }
    }

    /// One reading.
    pub(crate) async fn read_gpus(&self) {
        let began = self.clock.now();
        let reading = self.machine.probe.read().await;
        let mut books = self.machine.books();
        let before = books.error().map(str::to_owned);
        books.read(reading, began);
        match (before.as_deref(), books.error()) {
            (was, Some(error)) if was != Some(error) => {
                tracing::warn!(error, "the GPUs of this machine cannot be read");
            }
            (Some(_), None) => tracing::info!("the GPUs of this machine can be read again"),
            _ => {}
        }
    }
}
