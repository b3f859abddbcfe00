//! RabbitMQ through its library alone, with the same guarantees: a quorum queue,
//! persistent messages that must arrive, confirmations, one delivery at a time, and
//! a connection each to publish and to consume by.

use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, Consumer};

const QUEUE: &str = "bare";
/// RabbitMQ's words for: survives a restart of the broker.
const PERSISTENT: u8 = 2;

pub(crate) struct Bare {
    publish: Channel,
    consumer: Consumer,
    _consume: Channel,
    _connections: [Connection; 2],
}

impl Bare {
    pub(crate) async fn connect(url: &str) -> Self {
        let connect = async || {
            let connection = Connection::connect(url, ConnectionProperties::default());
            let connection = connection.await.unwrap();
            (connection.create_channel().await.unwrap(), connection)
        };
        let ((publish, first), (consume, second)) = (connect().await, connect().await);
        declare(&publish).await;
        Bare {
            consumer: subscribe(&consume).await,
            publish,
            _consume: consume,
            _connections: [first, second],
        }
    }

    pub(crate) async fn round_trip(&mut self, job: &[u8]) {
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let persistent = BasicProperties::default().with_delivery_mode(PERSISTENT);
        let published =
            self.publish
                .basic_publish("".into(), QUEUE.into(), options, job, persistent);
        let confirmed = published.await.unwrap().await.unwrap();
        assert!(confirmed.is_ack());
        let delivery = self.consumer.next().await.unwrap().unwrap();
        delivery
            .acker
            .ack(BasicAckOptions::default())
            .await
            .unwrap();
    }
}

async fn declare(channel: &Channel) {
    let confirming = ConfirmSelectOptions::default();
    channel.confirm_select(confirming).await.unwrap();
    let mut quorum = FieldTable::default();
    let kind = AMQPValue::LongString("quorum".into());
    quorum.insert("x-queue-type".into(), kind);
    let durable = QueueDeclareOptions::durable();
    let declared = channel.queue_declare(QUEUE.into(), durable, quorum);
    declared.await.unwrap();
}

async fn subscribe(channel: &Channel) -> Consumer {
    let one = channel.basic_qos(1, BasicQosOptions::default());
    one.await.unwrap();
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let consumer = channel.basic_consume(QUEUE.into(), "".into(), options, none);
    consumer.await.unwrap()
}
