//! Tells what is wanted, and hears what workers say of themselves.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use thermocline_broker::{BrokerError, Topic};
use thermocline_policy::Moment;
use thermocline_wire::fleet::Report;
use tokio_util::sync::CancellationToken;

use crate::demand::{Digest, Now, WHOLE_EVERY};
use crate::hub::Hub;
use crate::losses::watch;

/// The least time between two announcements: what comes meanwhile is told together.
const TOGETHER: Duration = Duration::from_millis(30);
/// How long to wait when the broker cannot be listened to.
const AGAIN: Duration = Duration::from_secs(1);
/// When everything is told once more to a worker that was not heard for a
/// while, since its report may come before it listens; and the least time
/// between two such.
const ONCE_MORE: Duration = Duration::from_secs(1);
/// The largest report that is read, bytes.
const LARGEST_REPORT: usize = 4 << 20;

/// Starts both, and looks after what they tell of, until `end`.
pub(crate) fn start(hub: &Arc<Hub>, end: &CancellationToken) {
    tokio::spawn(end.clone().run_until_cancelled_owned(tell(hub.clone())));
    tokio::spawn(end.clone().run_until_cancelled_owned(hear(hub.clone())));
    tokio::spawn(end.clone().run_until_cancelled_owned(watch(hub.clone())));
}

async fn tell(hub: Arc<Hub>) {
    let (mut digest, mut whole_at) = (Digest::default(), Moment::ORIGIN);
    let (mut told_at, mut next) = (Moment::ORIGIN, WHOLE_EVERY);
    loop {
        let now = hub.clock.now();
        let whole = now >= whole_at;
        if whole {
            (told_at, whole_at) = (now, now + next);
            next = WHOLE_EVERY;
            hub.lot().tidy(now);
            hub.sightings().forget(now);
        }
        if let Err(error) = hub.announce(&mut digest, whole).await {
            tracing::debug!(%error, "demand could not be announced");
        }
        hub.clock.sleep(TOGETHER).await;
        tokio::select! {
            _news_or_time = hub.clock.timeout_at(whole_at, hub.news.notified()) => {}
            () = hub.newcomers.notified() => {
                whole_at = whole_at.min(told_at + ONCE_MORE);
                next = ONCE_MORE;
            }
        }
    }
}

async fn hear(hub: Arc<Hub>) {
    loop {
        match hub.broker.listen(Topic::Report).await {
            Ok(mut reports) => {
                while let Some(report) = reports.next().await {
                    hub.hear_report(&report);
                }
            }
            Err(error) => tracing::debug!(%error, "workers cannot be heard"),
        }
        hub.clock.sleep(AGAIN).await;
    }
}

impl Hub {
    async fn announce(&self, digest: &mut Digest, whole: bool) -> Result<(), BrokerError> {
        let now = self.to_tell();
        let gateway = self.reply_to.get().map_or("", String::as_str);
        let demand = digest.next(gateway, now, whole);
        let Some(text) = demand.and_then(|demand| serde_json::to_vec(&demand).ok()) else {
            return Ok(());
        };
        self.broker.announce(Topic::Demand, Bytes::from(text)).await
    }

    fn to_tell(&self) -> Now {
        let standings = self.lot().standings(self.clock.now());
        let mut deployments = self.deployments();
        Now {
            models: deployments.models().cloned().collect(),
            standings,
            gone: deployments.take_gone(),
            draining: self.draining().clone(),
        }
    }

    fn hear_report(&self, text: &[u8]) {
        if text.len() > LARGEST_REPORT {
            return;
        }
        match serde_json::from_slice::<Report>(text) {
            Ok(report) => {
                if report.valid_ms == 0 {
                    self.seats().vacate(&report.worker);
                }
                if self.sightings().report(report, self.clock.now()) {
                    self.newcomers.notify_one();
                }
            }
            Err(error) => tracing::debug!(%error, "a worker's report cannot be read"),
        }
    }
}
