use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

use super::names::Names;
use super::session::table;
use crate::{Limits, Topic};

/// What every installation has, whatever is deployed: the dead letters, the
/// delays and the topics. Declaring what is there already changes nothing.
pub(super) async fn declare(channel: &Channel, names: &Names) -> lapin::Result<()> {
    quorum(channel, &names.dead(), FieldTable::default()).await?;
    for (name, ms) in names.delays() {
        exchange(channel, &name, true).await?;
        quorum(channel, &name, back_after(ms)).await?;
        bind(channel, &name, &name).await?;
    }
    for topic in [Topic::Demand, Topic::Report] {
        exchange(channel, &names.topic(topic), false).await?;
    }
    Ok(())
}

/// Deliveries after which even a dead letter goes; newer servers set a low limit where there is none.
const NO_LIMIT: i64 = 1_000_000;

/// A deployment's queue.
pub(super) async fn declare_queue(
    channel: &Channel,
    name: &str,
    dead: &str,
    limits: &Limits,
) -> lapin::Result<()> {
    let idle = millis(limits.queue_idle);
    let arguments = table([
        ("x-expires", AMQPValue::LongLongInt(idle)),
        (
            "x-delivery-limit",
            AMQPValue::LongLongInt(limits.deliveries.into()),
        ),
        // A holder may take as long as any request; older servers have one limit for all queues.
        ("x-consumer-timeout", AMQPValue::LongLongInt(idle)),
        ("x-dead-letter-routing-key", text(dead)),
    ]);
    quorum(channel, name, arguments).await
}

/// A listener's own queue: gone with it, and of the latest announcements alone.
pub(super) async fn declare_listener(
    channel: &Channel,
    exchange: &str,
    limits: &Limits,
) -> lapin::Result<String> {
    let options = QueueDeclareOptions {
        exclusive: true,
        auto_delete: true,
        ..QueueDeclareOptions::default()
    };
    let arguments = table([
        (
            "x-max-length",
            AMQPValue::LongLongInt(limits.announcements.into()),
        ),
        ("x-overflow", text("drop-head")),
    ]);
    let queue = channel.queue_declare("".into(), options, arguments).await?;
    let name = queue.name().to_string();
    bind(channel, &name, exchange).await?;
    Ok(name)
}

/// Arguments of a queue whose messages go back to where they came from after `ms`.
fn back_after(ms: u64) -> FieldTable {
    table([(
        "x-message-ttl",
        AMQPValue::LongLongInt(ms.try_into().unwrap_or(i64::MAX)),
    )])
}

/// A queue that survives the broker, and whose dead letters do too: they are
/// moved by the default exchange, and leave once they have arrived.
async fn quorum(channel: &Channel, name: &str, arguments: FieldTable) -> lapin::Result<()> {
    let mut all = table([
        ("x-queue-type", text("quorum")),
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-overflow", text("reject-publish")),
        ("x-delivery-limit", AMQPValue::LongLongInt(NO_LIMIT)),
    ]);
    for (name, value) in arguments.inner() {
        all.insert(name.clone(), value.clone());
    }
    let options = QueueDeclareOptions::durable();
    channel.queue_declare(name.into(), options, all).await?;
    Ok(())
}

async fn exchange(channel: &Channel, name: &str, durable: bool) -> lapin::Result<()> {
    let options = ExchangeDeclareOptions {
        durable,
        ..ExchangeDeclareOptions::default()
    };
    let kind = ExchangeKind::Fanout;
    channel
        .exchange_declare(name.into(), kind, options, FieldTable::default())
        .await
}

async fn bind(channel: &Channel, queue: &str, exchange: &str) -> lapin::Result<()> {
    let (queue, exchange) = (queue.into(), exchange.into());
    let options = QueueBindOptions::default();
    channel
        .queue_bind(queue, exchange, "".into(), options, FieldTable::default())
        .await
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
