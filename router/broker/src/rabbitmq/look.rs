use lapin::options::QueueDeclareOptions;
use lapin::protocol::AMQPSoftError;
use lapin::types::FieldTable;

use super::declared::is;
use super::session::Session;
use crate::{BrokerError, Depth};

/// How deep `queue` is; `None` where there is none.
pub(super) async fn look(session: &Session, queue: &str) -> Result<Option<Depth>, BrokerError> {
    let channel = session.side_channel().await?;
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let asking = channel.queue_declare(queue.into(), options, FieldTable::default());
    match session.try_ask(asking).await? {
        Ok(queue) => Ok(Some(Depth {
            waiting: queue.message_count().into(),
            consumers: queue.consumer_count(),
        })),
        Err(error) if is(&error, &AMQPSoftError::NOTFOUND) => Ok(None),
        Err(error) => Err(BrokerError::new("a queue could not be looked at").caused_by(error)),
    }
}
