use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

use super::aside::Aside;
use super::names::Names;
use super::session::{Session, table};
use crate::{BrokerError, Limits, Topic};

/// The exchanges that every installation has, whatever is deployed: those of the
/// delays and of the topics. Declaring what is there already changes nothing.
pub(super) async fn declare_exchanges(
    aside: &Aside,
    session: &Session,
    names: &Names,
) -> Result<(), BrokerError> {
    let declared = aside.ask(session, |channel| async move {
        for name in names.delays() {
            exchange(&channel, &name, true).await?;
        }
        for topic in [Topic::Demand, Topic::Report] {
            exchange(&channel, &names.topic(topic), false).await?;
        }
        Ok(())
    });
    let refused = |error| BrokerError::new("an exchange could not be made").caused_by(error);
    declared.await?.map_err(refused)
}

/// Deliveries after which even a dead letter goes; newer servers set a low limit where there is none.
const NO_LIMIT: i64 = 1_000_000;

/// The queue `name`: the dead letters', a delay's, or else a deployment's.
pub(super) async fn declare_queue(
    channel: &Channel,
    name: &str,
    names: &Names,
    limits: &Limits,
) -> lapin::Result<()> {
    let dead = names.dead();
    match names.waits_ms(name) {
        Some(ms) => {
            quorum(channel, name, back_after(ms)).await?;
            bind(channel, name, name).await
        }
        None if name == dead => quorum(channel, name, FieldTable::default()).await,
        None => quorum(channel, name, of_a_deployment(&dead, limits)).await,
    }
}

/// Arguments of a deployment's queue.
fn of_a_deployment(dead: &str, limits: &Limits) -> FieldTable {
    let idle = millis(limits.queue_idle);
    table([
        ("x-expires", AMQPValue::LongLongInt(idle)),
        (
            "x-delivery-limit",
            AMQPValue::LongLongInt(limits.deliveries.into()),
        ),
        // A holder may take as long as any request; older servers have one limit for all queues.
        ("x-consumer-timeout", AMQPValue::LongLongInt(idle)),
        ("x-dead-letter-routing-key", text(dead)),
    ])
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

pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
