//! Hints that a container ended.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use thermocline_provider::ProviderError;

use crate::DockerProvider;
use crate::calls::of_owner;
use crate::daemon::Daemon;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

type Events = BoxStream<'static, Result<EventMessage, Error>>;

impl DockerProvider {
    /// A hint for each end of a container of `owner`, and one whenever hints
    /// may have been missed.
    ///
    /// It never ends and never fails: while the daemon is away it is silent and
    /// looks again after 1 s to 30 s. A hint is no fact; a list is.
    pub fn watch(&self, owner: &str) -> Pin<Box<dyn Stream<Item = ()> + Send>> {
        let watch = Watch {
            daemon: self.daemon.clone(),
            filters: ends_of(owner),
            limit: self.limits.call,
            events: None,
            pause: FIRST_PAUSE,
        };
        Box::pin(stream::unfold(watch, |mut watch| async move {
            watch.next().await;
            Some(((), watch))
        }))
    }
}

struct Watch {
    daemon: Daemon,
    filters: HashMap<String, Vec<String>>,
    limit: Duration,
    events: Option<Events>,
    pause: Duration,
}

impl Watch {
    async fn next(&mut self) {
        loop {
            let event = match &mut self.events {
                Some(events) => events.next().await,
                None => return self.connect().await,
            };
            if let Some(Ok(_)) = event {
                self.pause = FIRST_PAUSE;
                return;
            }
            self.events = None;
            self.wait().await;
        }
    }

    /// Returns once the daemon is there to be listened to.
    async fn connect(&mut self) {
        while self.reach().await.is_err() {
            self.wait().await;
        }
    }

    /// Events are wanted from now on, though they are asked for only when the
    /// stream is polled next.
    async fn reach(&mut self) -> Result<(), ProviderError> {
        let now = seconds(self.daemon.clock().wall());
        let ping = async { Ok(self.daemon.ping().await?) };
        self.daemon.within(self.limit, ping).await?;
        let options = EventsOptionsBuilder::new()
            .since(&now)
            .filters(&self.filters)
            .build();
        let subscribe = |docker: Docker| async move { Ok(docker.events(Some(options)).boxed()) };
        self.events = Some(self.daemon.ask(subscribe).await?);
        Ok(())
    }

    async fn wait(&mut self) {
        self.daemon.clock().sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

/// Seconds since 1970, as Docker takes them.
fn seconds(wall: SystemTime) -> String {
    let since = wall.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs().to_string()
}

fn ends_of(owner: &str) -> HashMap<String, Vec<String>> {
    let mut filters = of_owner(owner);
    filters.insert("type".to_owned(), vec!["container".to_owned()]);
    let ends = ["die", "oom", "stop", "destroy"].map(str::to_owned);
    filters.insert("event".to_owned(), ends.into());
    filters
}
