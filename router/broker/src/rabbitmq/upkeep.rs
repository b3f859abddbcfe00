//! The queues that every installation has are looked after, whoever uses them:
//! the process that made them is often not the one that publishes into them,
//! and nobody else may make them anew.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use thermocline_clock::Clock;

use super::declared::Declared;
use super::mend;
use super::session::{PATIENCE, Session};
use super::shared::Shared;
use crate::BrokerError;

/// How soon a queue is tried out again that could not be.
const AGAIN: Duration = Duration::from_secs(1);

/// Goes on, session after session, as long as anybody has the broker.
pub(super) async fn run(broker: Weak<Shared>) {
    while let Some(shared) = broker.upgrade() {
        let (declared, clock) = (shared.declared.clone(), shared.clock.clone());
        let link = shared.publisher.link();
        let Ok(session) = link.session(clock.now() + PATIENCE).await else {
            continue;
        };
        drop(shared);
        let queues: Vec<String> = declared.names().standing().collect();
        let each = queues.iter();
        join_all(each.map(|queue| tend(queue, &declared, &session, &clock))).await;
        session.lost().await;
    }
}

/// Until `queue` has settled, or the session is lost.
async fn tend(queue: &str, declared: &Declared, session: &Arc<Session>, clock: &Clock) {
    while !session.is_lost() {
        match mended(queue, declared, session).await {
            Ok(()) if declared.settles(queue).await => return,
            Ok(()) => {}
            Err(error) => {
                tracing::debug!(queue, %error, "a queue is not mended yet");
                clock.sleep(AGAIN).await;
            }
        }
    }
}

/// Makes sure that `queue` is there, and anew where a crash left its name alone.
async fn mended(
    queue: &str,
    declared: &Declared,
    session: &Arc<Session>,
) -> Result<(), BrokerError> {
    if let Some(doubt) = declared.doubt(queue).await {
        let revived = mend::revive(declared.aside(), session, doubt).await?;
        if !revived {
            declared.forget(queue);
        }
    }
    declared.ensure(queue, session).await
}
