//! The shared fleet's queues, where the configuration says.

use std::sync::Arc;

use thermocline_broker::{Broker, Limits, MemoryBroker, RabbitMq};
use thermocline_clock::Clock;
use thermocline_server::{BrokerConfig, Redaction};

use super::source::Source;
use crate::failure::Failure;

/// What the names of queues begin with. Gateways and workers need nothing but the
/// same URL to find each other, so installations that share a RabbitMQ are kept
/// apart by its virtual hosts.
pub(crate) const QUEUES: &str = "fleet";

/// Opens them. A RabbitMQ may be away, and come later.
///
/// # Errors
/// A mistake of the configuration: there is no URL where it should be, or a wrong one.
pub(super) fn open(
    config: &BrokerConfig,
    clock: &Clock,
    redaction: &Redaction,
) -> Result<Arc<dyn Broker>, Failure> {
    let limits = Limits::default();
    match resolved(config)? {
        BrokerConfig::RabbitMq(address) => {
            redaction.hide(address.password());
            Ok(Arc::new(RabbitMq::start(
                address,
                QUEUES,
                limits,
                clock.clone(),
            )))
        }
        _ => Ok(Arc::new(MemoryBroker::new(clock.clone(), &limits))),
    }
}

/// With the URL read that the configuration only points to.
fn resolved(config: &BrokerConfig) -> Result<BrokerConfig, Failure> {
    let (key, source) = match config {
        BrokerConfig::Env(variable) => ("broker.url_env", Source::Variable(variable)),
        BrokerConfig::File(file) => ("broker.url_file", Source::File(file)),
        there => return Ok(there.clone()),
    };
    let wrong = |what| Failure::mistake(format!("{key}: {what}"));
    let url = source.read().map_err(wrong)?;
    BrokerConfig::of_url(&url).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_in_a_file_is_read_and_not_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("url");
        let config = BrokerConfig::File(path.clone());
        assert!(
            resolved(&config)
                .unwrap_err()
                .to_string()
                .contains("broker.url_file")
        );
        std::fs::write(&path, "amqp://me:s3cret@rabbit/fleet\n").unwrap();
        let BrokerConfig::RabbitMq(address) = resolved(&config).unwrap() else {
            panic!("no address");
        };
        assert_eq!(address.to_string(), "amqp://rabbit:5672");
        std::fs::write(&path, "http://me:s3cret@rabbit").unwrap();
        let told = resolved(&config).unwrap_err().to_string();
        assert!(
            told.contains("amqp://") && !told.contains("s3cret"),
            "{told}"
        );
    }
}
