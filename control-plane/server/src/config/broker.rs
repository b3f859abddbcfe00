use std::path::PathBuf;

use serde_json::Value;
use thermocline_broker::RabbitMqAddress;
use thermocline_wire::reader::{Object, text};

/// `[broker]`: where the shared fleet's queues are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerConfig {
    /// In this process.
    Memory,
    /// In the RabbitMQ at this address.
    RabbitMq(RabbitMqAddress),
    /// Where the URL in an environment variable says.
    Env(String),
    /// Where the URL in a file says.
    File(PathBuf),
}

impl BrokerConfig {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is allowed; nothing of the URL is repeated, since it may hold a password.
    pub fn of_url(url: &str) -> Result<Self, String> {
        match url {
            "memory://" => Ok(BrokerConfig::Memory),
            url => RabbitMqAddress::parse(url)
                .map(BrokerConfig::RabbitMq)
                .map_err(|allowed| format!("{allowed}; or memory://")),
        }
    }
}

/// Reads `[broker]`, which may be absent.
pub(super) fn broker(section: Option<Object<'_>>) -> BrokerConfig {
    let Some(section) = section else {
        return BrokerConfig::Memory;
    };
    let url = |value: &Value| BrokerConfig::of_url(&text(value)?);
    let given = [
        ("url", section.read("url", url)),
        ("url_env", section.text("url_env").map(BrokerConfig::Env)),
        (
            "url_file",
            section
                .text("url_file")
                .map(|file| BrokerConfig::File(file.into())),
        ),
    ];
    let mut given = given.into_iter().filter_map(|(key, it)| Some((key, it?)));
    let first = given.next();
    if let (Some((first, _)), Some((second, _))) = (&first, given.next()) {
        section.wrong(second, format!("excludes {first}"));
    }
    section.finish();
    first.map_or(BrokerConfig::Memory, |(_, config)| config)
}
