//! One message from its publication to its acknowledgement, one at a time: in
//! memory, over RabbitMQ, and over RabbitMQ with its library alone. The last
//! two are skipped where RabbitMQ is not installed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a bench is an edge itself

use std::time::Duration;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, Consumer};
use thermocline_broker::{Broker, Deliveries, Limits, MemoryBroker, RabbitMq, RabbitMqAddress};
use thermocline_clock::Clock;
use thermocline_rabbitmq::Server;
use tokio::runtime::Runtime;

/// As large as a job is.
const JOB: &[u8] = &[b'x'; 400];

async fn subscribed(broker: &dyn Broker) -> Deliveries {
    while broker.available().is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    broker.consume("bench", 1).await.unwrap()
}

async fn round_trip(broker: &dyn Broker, deliveries: &mut Deliveries) {
    let job = Bytes::from_static(JOB);
    broker.publish("bench", job).await.unwrap();
    deliveries.next().await.unwrap().ack().await.unwrap();
}

/// The library alone, with the same guarantees: a quorum queue, confirmations.
async fn bare(url: &str) -> (Connection, Channel, Channel, Consumer) {
    let connection = Connection::connect(url, ConnectionProperties::default());
    let connection = connection.await.unwrap();
    let publish = connection.create_channel().await.unwrap();
    publish
        .confirm_select(ConfirmSelectOptions::default())
        .await
        .unwrap();
    let mut quorum = FieldTable::default();
    quorum.insert(
        "x-queue-type".into(),
        AMQPValue::LongString("quorum".into()),
    );
    let durable = QueueDeclareOptions::durable();
    publish
        .queue_declare("bare".into(), durable, quorum)
        .await
        .unwrap();
    let consume = connection.create_channel().await.unwrap();
    consume
        .basic_qos(1, BasicQosOptions::default())
        .await
        .unwrap();
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let consumer = consume.basic_consume("bare".into(), "".into(), options, none);
    let consumer = consumer.await.unwrap();
    (connection, publish, consume, consumer)
}

async fn bare_round_trip(publish: &Channel, consumer: &mut Consumer) {
    let options = BasicPublishOptions::default();
    let persistent = BasicProperties::default().with_delivery_mode(2);
    let confirm = publish.basic_publish("".into(), "bare".into(), options, JOB, persistent);
    confirm.await.unwrap().await.unwrap();
    let delivery = consumer.next().await.unwrap().unwrap();
    delivery
        .acker
        .ack(BasicAckOptions::default())
        .await
        .unwrap();
}

fn memory(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let inside = runtime.enter();
    let broker = MemoryBroker::new(Clock::system(), &Limits::default());
    let mut deliveries = runtime.block_on(subscribed(&broker));
    c.bench_function("round trip in memory", |b| {
        b.iter(|| runtime.block_on(round_trip(&broker, &mut deliveries)));
    });
    drop(inside);
}

fn rabbitmq(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let Some(server) = runtime.block_on(Server::start()) else {
        return;
    };
    let inside = runtime.enter();
    let (_connection, publish, _consume, mut consumer) = runtime.block_on(bare(&server.url()));
    c.bench_function("round trip over RabbitMQ, its library alone", |b| {
        b.iter(|| runtime.block_on(bare_round_trip(&publish, &mut consumer)));
    });
    let address = RabbitMqAddress::parse(&server.url()).unwrap();
    let broker = RabbitMq::start(address, "bench", Limits::default(), Clock::system());
    let mut deliveries = runtime.block_on(subscribed(&broker));
    c.bench_function("round trip over RabbitMQ", |b| {
        b.iter(|| runtime.block_on(round_trip(&broker, &mut deliveries)));
    });
    drop(inside);
}

criterion_group!(benches, memory, rabbitmq);
criterion_main!(benches);
