//! Images that are not on this machine yet.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bollard::errors::Error;
use bollard::query_parameters::{CreateImageOptions, CreateImageOptionsBuilder};
use futures_util::future::{BoxFuture, FutureExt, Shared};
use futures_util::stream::TryStreamExt;
use thermocline_provider::{ProviderError, ProviderErrorKind};

use crate::daemon::Daemon;
use crate::fault::Fault;

type Pull = Shared<BoxFuture<'static, Result<(), ProviderError>>>;

/// The pulls in progress, one per image however many wait for it.
///
/// A pull outlives the call that began it: an image takes longer to come than
/// a `create` may take, so the next one finds it further on.
#[derive(Debug, Default)]
pub(crate) struct Pulls(Mutex<HashMap<String, Pull>>);

impl Pulls {
    /// Waits until `image` is there.
    ///
    /// # Errors
    /// `Invalid` when the daemon cannot get it, `Unavailable` when it does not say.
    pub(crate) async fn pull(
        self: &Arc<Self>,
        image: &str,
        daemon: &Daemon,
        limit: Duration,
    ) -> Result<(), ProviderError> {
        let pull = self
            .lock()
            .entry(image.to_owned())
            .or_insert_with(|| self.begin(image.to_owned(), daemon.clone(), limit))
            .clone();
        pull.await
    }

    /// Whether `image` is on its way.
    pub(crate) fn in_progress(&self, image: &str) -> bool {
        self.lock().contains_key(image)
    }

    fn begin(self: &Arc<Self>, image: String, daemon: Daemon, limit: Duration) -> Pull {
        let pulls = Arc::clone(self);
        let task = tokio::spawn(async move {
            let outcome = daemon.within(limit, fetch(&image, &daemon)).await;
            pulls.lock().remove(&image);
            outcome
        });
        let outcome = async { task.await.unwrap_or_else(|_| Err(Fault::Broken.into())) };
        outcome.boxed().shared()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pull>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of a `create` that ended before its image had come.
pub(crate) fn still_pulling() -> ProviderError {
    let detail = "the image is still being pulled";
    ProviderError::new(ProviderErrorKind::Unavailable, detail)
}

async fn fetch(image: &str, daemon: &Daemon) -> Result<(), ProviderError> {
    let pulled = daemon.ask(|docker| async move {
        let mut progress = pin!(docker.create_image(Some(options(image)), None, None));
        while let Some(step) = progress.try_next().await? {
            if let Some(detail) = step.error_detail {
                let error = detail.message.unwrap_or_default();
                return Err(Error::DockerStreamError { error });
            }
        }
        Ok(())
    });
    pulled.await.map_err(Fault::of_pull)
}

/// Without a tag Docker would pull every tag there is.
fn options(image: &str) -> CreateImageOptions {
    let options = CreateImageOptionsBuilder::new().from_image(image);
    let last = image.rsplit('/').next().unwrap_or(image);
    let options = if last.contains([':', '@']) {
        options
    } else {
        options.tag("latest")
    };
    options.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_image_is_pulled_and_not_all_of_its_tags() {
        let tag = |image| options(image).tag;
        assert_eq!(tag("sdxl").as_deref(), Some("latest"));
        assert_eq!(tag("host:5000/sdxl").as_deref(), Some("latest"));
        assert_eq!(tag("host:5000/sdxl:1.4"), None);
        assert_eq!(tag("sdxl@sha256:00"), None);
    }
}
