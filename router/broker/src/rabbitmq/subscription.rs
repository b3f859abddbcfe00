use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::Consumer;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use thermocline_policy::Moment;

use super::in_hand::hand_out;
use super::session::{PATIENCE, Session};
use super::shared::{Shared, unaborted};
use crate::{BrokerError, Burial, Delivery};

/// How soon a queue is asked for again that a session refused.
const SUBSCRIBE_AGAIN: Duration = Duration::from_secs(1);

/// A queue's deliveries, over any number of connections.
pub(super) struct Subscription {
    shared: Arc<Shared>,
    queue: String,
    prefetch: u16,
    consumer: Option<Held>,
}

/// A consumer on one session.
struct Held {
    shared: Arc<Shared>,
    session: Arc<Session>,
    queue: String,
    /// `None` once it is being cancelled.
    consumer: Option<Consumer>,
}

impl Subscription {
    /// Subscribes, with a session that is there within [`PATIENCE`].
    pub(super) async fn open(
        shared: &Arc<Shared>,
        queue: String,
        prefetch: u16,
    ) -> Result<Self, BrokerError> {
        let mut subscription = Subscription {
            shared: shared.clone(),
            queue,
            prefetch: prefetch.max(1),
            consumer: None,
        };
        let deadline = shared.clock.now() + PATIENCE;
        subscription.consumer = Some(subscription.subscribe(deadline).await?);
        Ok(subscription)
    }

    /// The next delivery, and why it is dead if it is.
    pub(super) async fn next(&mut self) -> (Option<(String, Burial)>, Delivery) {
        loop {
            let Some(held) = &mut self.consumer else {
                match self.subscribe(Moment::NEVER).await {
                    Ok(held) => self.consumer = Some(held),
                    // The session is there, and refuses: no reason to ask without a pause.
                    Err(error) => {
                        tracing::warn!(queue = self.queue, %error, "no subscription");
                        self.shared.clock.sleep(SUBSCRIBE_AGAIN).await;
                    }
                }
                continue;
            };
            match held.next().await {
                Some(delivery) => {
                    return hand_out(&self.shared, &held.session, &self.queue, delivery);
                }
                None => self.consumer = None,
            }
        }
    }

    /// In a task of its own, so that no consumer is left behind that nobody reads.
    async fn subscribe(&self, deadline: Moment) -> Result<Held, BrokerError> {
        let shared = self.shared.clone();
        let (queue, prefetch) = (self.queue.clone(), self.prefetch);
        unaborted(tokio::spawn(consume(shared, queue, prefetch, deadline)).await)
    }
}

async fn consume(
    shared: Arc<Shared>,
    queue: String,
    prefetch: u16,
    deadline: Moment,
) -> Result<Held, BrokerError> {
    let session = shared.consumers.session(deadline).await?;
    if queue != shared.names.dead() {
        shared.declared.ensure(&queue, &session).await?;
    }
    let consumer = {
        let _prefetch = shared.prefetch.lock().await;
        let channel = &session.channel;
        let consuming = async {
            channel
                .basic_qos(prefetch, BasicQosOptions::default())
                .await?;
            let options = BasicConsumeOptions::default();
            let (name, tag) = (queue.as_str().into(), "".into());
            channel
                .basic_consume(name, tag, options, FieldTable::default())
                .await
        };
        session.ask(consuming).await?
    };
    Ok(Held {
        shared: shared.clone(),
        session,
        queue,
        consumer: Some(consumer),
    })
}

impl Held {
    /// The next delivery; `None` when there will be none by this consumer.
    async fn next(&mut self) -> Option<lapin::message::Delivery> {
        let consumer = self.consumer.as_mut()?;
        let next = tokio::select! {
            biased;
            () = self.session.lost() => return None,
            next = consumer.next() => next,
        };
        match next {
            Some(Ok(delivery)) => Some(delivery),
            Some(Err(error)) => {
                self.session.lose(error);
                None
            }
            // The broker ended it: its queue was deleted.
            None => {
                self.shared.declared.forget(&self.queue);
                None
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let (Some(consumer), Ok(runtime)) =
            (self.consumer.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (shared, session) = (self.shared.clone(), self.session.clone());
        runtime.spawn(end(
            shared,
            session,
            std::mem::take(&mut self.queue),
            consumer,
        ));
    }
}

/// Ends a consumer; what it was sent and did not hand out goes back, uncounted.
async fn end(shared: Arc<Shared>, session: Arc<Session>, queue: String, mut consumer: Consumer) {
    let cancelling = session
        .channel
        .basic_cancel(consumer.tag(), BasicCancelOptions::default());
    if session.ask(cancelling).await.is_err() {
        return;
    }
    while let Some(Ok(delivery)) = consumer.next().await {
        let (_, delivery) = hand_out(&shared, &session, &queue, delivery);
        let _ = delivery.give_back().await;
    }
}
