use std::time::Duration;

use thermocline_broker::{Broker, Limits, RabbitMq, RabbitMqAddress};
use thermocline_clock::Clock;
use thermocline_rabbitmq::{Proxy, Server};

/// A RabbitMQ, the network before it, and a broker of ours that goes through.
pub(crate) struct Scene {
    pub(crate) broker: RabbitMq,
    pub(crate) proxy: Proxy,
    pub(crate) server: Server,
}

impl Scene {
    /// `None` where RabbitMQ is not installed.
    pub(crate) async fn open(limits: Limits) -> Option<Self> {
        let server = Server::start().await?;
        let proxy = Proxy::before(server.port()).await;
        let broker = connect(&proxy.url(), "one", limits).await;
        Some(Scene {
            broker,
            proxy,
            server,
        })
    }
}

/// A broker that is connected.
pub(crate) async fn connect(url: &str, owner: &str, limits: Limits) -> RabbitMq {
    let address = RabbitMqAddress::parse(url).expect("an address");
    let broker = RabbitMq::start(address, owner, limits, Clock::system());
    until("it is connected", || broker.available().is_ok()).await;
    broker
}

/// Waits until `seen`.
pub(crate) async fn until(what: &str, seen: impl Fn() -> bool) {
    let waiting = async {
        while !seen() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
    assert!(waited.is_ok(), "not seen: {what}");
}
