use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Consumer};
use thermocline_policy::Moment;

use super::publisher::Letter;
use super::session::{PATIENCE, Session};
use super::shared::Shared;
use super::topology;
use crate::{BrokerError, Topic};

/// Announcements that a listener has before it acknowledged the first; the
/// rest stays where the oldest are dropped when they are too many.
const AT_A_TIME: u16 = 16;

pub(super) fn announcement(shared: &Shared, topic: Topic, body: Bytes) -> Letter {
    Letter {
        exchange: shared.names.topic(topic),
        key: String::new(),
        properties: BasicProperties::default(),
        data: body,
        queues: Vec::new(),
        mandatory: false,
    }
}

/// Who listens to a topic, over any number of connections.
pub(super) struct Listener {
    shared: Arc<Shared>,
    topic: Topic,
    ear: Option<Ear>,
}

/// A listener on one session. Its queue goes with its channel.
struct Ear {
    session: Arc<Session>,
    consumer: Consumer,
    _channel: Channel,
}

impl Listener {
    pub(super) async fn open(shared: &Arc<Shared>, topic: Topic) -> Result<Self, BrokerError> {
        let deadline = shared.clock.now() + PATIENCE;
        Ok(Listener {
            ear: Some(Ear::open(shared, topic, deadline).await?),
            shared: shared.clone(),
            topic,
        })
    }

    /// The next announcement.
    pub(super) async fn next(&mut self) -> Bytes {
        loop {
            let Some(ear) = &mut self.ear else {
                self.ear = Ear::open(&self.shared, self.topic, Moment::NEVER)
                    .await
                    .ok();
                continue;
            };
            match ear.next().await {
                Some(body) => return body,
                None => self.ear = None,
            }
        }
    }
}

impl Ear {
    async fn open(shared: &Shared, topic: Topic, deadline: Moment) -> Result<Self, BrokerError> {
        let session = shared.consumers.session(deadline).await?;
        let exchange = shared.names.topic(topic);
        let opening = async {
            let channel = session.own_channel().await?;
            let queue = topology::declare_listener(&channel, &exchange, &shared.limits).await?;
            channel
                .basic_qos(AT_A_TIME, BasicQosOptions::default())
                .await?;
            let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
            let consumer = channel
                .basic_consume(queue.into(), "".into(), options, none)
                .await?;
            Ok((channel, consumer))
        };
        let (channel, consumer) = session.ask(opening).await?;
        Ok(Ear {
            session,
            consumer,
            _channel: channel,
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        let next = tokio::select! {
            biased;
            () = self.session.lost() => return None,
            next = self.consumer.next() => next,
        };
        let heard = next?.ok()?;
        let acknowledged = self
            .session
            .ask(heard.acker.ack(BasicAckOptions::default()));
        acknowledged.await.ok()?;
        Some(heard.data.into())
    }
}
