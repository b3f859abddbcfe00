use lapin::options::QueueDeclareOptions;
use lapin::protocol::AMQPSoftError;
use lapin::types::FieldTable;

use super::aside::Aside;
use super::declared::is;
use super::session::Session;
use crate::{BrokerError, Depth};

/// How deep `queue` is; `None` where there is none.
pub(super) async fn look(
    aside: &Aside,
    session: &Session,
    queue: &str,
) -> Result<Option<Depth>, BrokerError> {
    let options = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let asked = aside.ask(session, |channel| async move {
        let none = FieldTable::default();
        channel.queue_declare(queue.into(), options, none).await
    });
    match asked.await? {
        Ok(queue) => Ok(Some(Depth {
            waiting: queue.message_count().into(),
            consumers: queue.consumer_count(),
        })),
        Err(error) if is(&error, &AMQPSoftError::NOTFOUND) => Ok(None),
        Err(error) => Err(BrokerError::new("a queue could not be looked at").caused_by(error)),
    }
}
