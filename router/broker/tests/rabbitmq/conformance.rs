use std::time::Duration;

use async_trait::async_trait;
use thermocline_broker::conformance::{self, Subject};
use thermocline_broker::{Broker, Limits, RabbitMq};

use crate::scene::{Scene, connect, until};

fn limits() -> Limits {
    Limits {
        deliveries: 3,
        queue_idle: Duration::from_secs(5),
        announcements: 16,
        settling: Duration::ZERO,
        ..Limits::default()
    }
}

struct OverTheNetwork {
    scene: Scene,
    stranger: RabbitMq,
}

#[async_trait]
impl Subject for OverTheNetwork {
    fn broker(&self) -> &dyn Broker {
        &self.scene.broker
    }

    fn stranger(&self) -> &dyn Broker {
        &self.stranger
    }

    fn limits(&self) -> Limits {
        limits()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn lose_holders(&self) {
        let broker = &self.scene.broker;
        self.scene.proxy.cut();
        until("the cut is noticed", || broker.available().is_err()).await;
        until("it is connected again", || broker.available().is_ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_every_clause() {
    let Some(scene) = Scene::open(limits()).await else {
        return;
    };
    let stranger = connect(&scene.server.url(), "another", limits()).await;
    let report = conformance::run(&OverTheNetwork { scene, stranger }).await;
    assert!(report.passed(), "{report}");
}
