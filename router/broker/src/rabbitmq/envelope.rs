use bytes::Bytes;
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};

use super::names::Names;
use crate::Burial;

/// Attempts that were counted by whoever published.
const ATTEMPTS: &str = "tc-attempts";
/// The deployment of a dead letter.
const QUEUE: &str = "tc-queue";
/// How many of the last bytes of a dead letter are its report.
const REPORT: &str = "tc-report-bytes";
/// Deliveries that nobody settled; RabbitMQ's, of quorum queues.
const DELIVERIES: &str = "x-delivery-count";
/// The queue that a message was dead-lettered from first; RabbitMQ's.
const FIRST_QUEUE: &str = "x-first-death-queue";

/// A message as it travels: its body, what it has been through, and why it is
/// dead if it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope {
    pub(super) body: Bytes,
    pub(super) attempts: u32,
    pub(super) burial: Option<(String, Burial)>,
}

/// RabbitMQ's words for: survives a restart of the broker.
const PERSISTENT: u8 = 2;
/// Goes before what is new, where quorum queues know priorities.
const PRIORITY_OF_WHAT_COMES_BACK: u8 = 9;

impl Envelope {
    pub(super) fn new(body: Bytes) -> Self {
        Envelope {
            body,
            attempts: 0,
            burial: None,
        }
    }

    /// What was delivered with `properties` and `data`.
    pub(super) fn open(properties: &BasicProperties, data: Vec<u8>, names: &Names) -> Self {
        let mut body = Bytes::from(data);
        let headers = properties.headers().as_ref();
        let number = |name| headers.and_then(|it| integer(it, name)).unwrap_or(0);
        let text = |name| headers.and_then(|it| string(it, name));
        let from_broker =
            || text(FIRST_QUEUE).and_then(|it| Some(names.deployment(&it)?.to_owned()));
        let burial = text(QUEUE).or_else(from_broker).map(|queue| {
            let report = headers.and_then(|it| integer(it, REPORT)).map(|length| {
                let at = body.len().saturating_sub(length as usize);
                body.split_off(at)
            });
            (
                queue,
                report.map_or(Burial::Undeliverable, |report| Burial::GivenUp { report }),
            )
        });
        Envelope {
            attempts: number(ATTEMPTS).saturating_add(number(DELIVERIES)),
            body,
            burial,
        }
    }

    /// Its headers.
    pub(super) fn properties(&self) -> BasicProperties {
        let mut headers = FieldTable::default();
        headers.insert(ATTEMPTS.into(), AMQPValue::LongUInt(self.attempts));
        if let Some((queue, burial)) = &self.burial {
            headers.insert(QUEUE.into(), AMQPValue::LongString(queue.as_str().into()));
            if let Burial::GivenUp { report } = burial {
                let length = u32::try_from(report.len()).unwrap_or(u32::MAX);
                headers.insert(REPORT.into(), AMQPValue::LongUInt(length));
            }
        }
        BasicProperties::default()
            .with_delivery_mode(PERSISTENT)
            .with_headers(headers)
    }

    /// Its headers, for going before what is new.
    pub(super) fn properties_first(&self) -> BasicProperties {
        self.properties().with_priority(PRIORITY_OF_WHAT_COMES_BACK)
    }

    /// What travels below the headers.
    pub(super) fn data(&self) -> Bytes {
        match &self.burial {
            Some((_, Burial::GivenUp { report })) => [&self.body[..], &report[..]].concat().into(),
            _ => self.body.clone(),
        }
    }
}

fn integer(headers: &FieldTable, name: &str) -> Option<u32> {
    let value = match headers.inner().get(name)? {
        AMQPValue::ShortShortInt(it) => i64::from(*it),
        AMQPValue::ShortShortUInt(it) => i64::from(*it),
        AMQPValue::ShortInt(it) => i64::from(*it),
        AMQPValue::ShortUInt(it) => i64::from(*it),
        AMQPValue::LongInt(it) => i64::from(*it),
        AMQPValue::LongUInt(it) => i64::from(*it),
        AMQPValue::LongLongInt(it) => *it,
        _ => return None,
    };
    u32::try_from(value).ok()
}

fn string(headers: &FieldTable, name: &str) -> Option<String> {
    match headers.inner().get(name)? {
        AMQPValue::LongString(it) => Some(it.to_string()),
        AMQPValue::ShortString(it) => Some(it.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(envelope: &Envelope) -> Envelope {
        let data = envelope.data().to_vec();
        Envelope::open(&envelope.properties(), data, &Names::of("me"))
    }

    #[test]
    fn what_is_sent_is_what_is_received() {
        let report = Bytes::from("why");
        let burials = [Burial::GivenUp { report }, Burial::Undeliverable];
        for burial in burials.into_iter().map(Some).chain([None]) {
            let envelope = Envelope {
                body: "job".into(),
                attempts: 3,
                burial: burial.map(|burial| ("sdxl".into(), burial)),
            };
            assert_eq!(there_and_back(&envelope), envelope);
        }
    }

    #[test]
    fn unsettled_deliveries_are_attempts() {
        let mut headers = FieldTable::default();
        headers.insert(ATTEMPTS.into(), AMQPValue::LongUInt(2));
        headers.insert(DELIVERIES.into(), AMQPValue::LongLongInt(3));
        let properties = BasicProperties::default().with_headers(headers);
        let envelope = Envelope::open(&properties, b"job".to_vec(), &Names::of("me"));
        assert_eq!(envelope.attempts, 5);
    }

    #[test]
    fn what_the_broker_buried_has_no_report() {
        let mut headers = FieldTable::default();
        let queue = Names::of("me").queue("sdxl");
        headers.insert(FIRST_QUEUE.into(), AMQPValue::LongString(queue.into()));
        let properties = BasicProperties::default().with_headers(headers);
        let envelope = Envelope::open(&properties, b"job".to_vec(), &Names::of("me"));
        assert_eq!(
            envelope.burial,
            Some(("sdxl".into(), Burial::Undeliverable))
        );
    }

    #[test]
    fn a_report_longer_than_the_message_is_all_of_it() {
        let mut headers = FieldTable::default();
        headers.insert(QUEUE.into(), AMQPValue::LongString("sdxl".into()));
        headers.insert(REPORT.into(), AMQPValue::LongUInt(99));
        let properties = BasicProperties::default().with_headers(headers);
        let envelope = Envelope::open(&properties, b"job".to_vec(), &Names::of("me"));
        assert_eq!(envelope.body, Bytes::new());
    }
}
