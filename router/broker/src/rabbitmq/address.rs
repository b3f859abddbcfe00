use std::fmt;

use lapin::uri::AMQPUri;

/// Where a RabbitMQ is, and who we are there. Its text and its debug form hold
/// no credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct RabbitMqAddress(AMQPUri);

/// Why a text is no [`RabbitMqAddress`]; it repeats none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be amqp:// or amqps:// with a host, as in amqp://user:password@host:5672/vhost")]
pub struct NotAnAddress;

/// Seconds between heartbeats unless the address says otherwise: a peer that
/// is gone without a word is noticed after two.
const HEARTBEAT_S: u16 = 4;

impl RabbitMqAddress {
    /// Reads `amqp(s)://[user[:password]@]host[:port][/vhost][?heartbeat=seconds]`.
    ///
    /// # Errors
    /// [`NotAnAddress`], whatever is wrong with it.
    pub fn parse(text: &str) -> Result<Self, NotAnAddress> {
        let mut uri: AMQPUri = text.parse().map_err(|_| NotAnAddress)?;
        if uri.authority.host.is_empty() {
            return Err(NotAnAddress);
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT_S);
        Ok(RabbitMqAddress(uri))
    }

    /// What nobody may read.
    pub fn password(&self) -> &str {
        &self.0.authority.userinfo.password
    }

    pub(super) fn into_uri(self) -> AMQPUri {
        self.0
    }
}

impl fmt::Display for RabbitMqAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, authority) = (&self.0.scheme, &self.0.authority);
        write!(f, "{scheme}://{}:{}", authority.host, authority.port)
    }
}

impl fmt::Debug for RabbitMqAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_holds_no_credentials() {
        let address = RabbitMqAddress::parse("amqps://me:s3cret@rabbit.internal/fleet").unwrap();
        assert_eq!(address.to_string(), "amqps://rabbit.internal:5671");
        assert_eq!(format!("{address:?}"), "amqps://rabbit.internal:5671");
    }

    #[test]
    fn a_mistake_repeats_nothing() {
        for wrong in [
            "",
            "me:s3cret@rabbit",
            "http://me:s3cret@rabbit",
            "amqp://me:s3cret@",
        ] {
            let told = RabbitMqAddress::parse(wrong).unwrap_err().to_string();
            assert!(!told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn a_silent_peer_is_noticed_unless_told_otherwise() {
        let heartbeat = |text| {
            RabbitMqAddress::parse(text)
                .unwrap()
                .into_uri()
                .query
                .heartbeat
        };
        assert_eq!(heartbeat("amqp://rabbit"), Some(HEARTBEAT_S));
        assert_eq!(heartbeat("amqp://rabbit?heartbeat=60"), Some(60));
    }
}
