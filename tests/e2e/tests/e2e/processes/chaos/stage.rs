//! The processes, and how each is killed and comes back.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use thermocline_broker::{Broker, Limits, RabbitMq, RabbitMqAddress};
use thermocline_clock::Clock;
use thermocline_support::process::{Running, Server, Setup};
use tokio::sync::watch;

use super::pause;

/// Deployments of the fleet; every worker has room for all.
pub(super) const MODELS: [&str; 3] = ["red", "green", "blue"];

const WORKERS: usize = 3;

const CONFIG: &str = r#"
[fleet]
listen = "127.0.0.1:0"

[fleet.workers.all]
token_env = "THERMOCLINE_WORKER_TOKEN"
"#;

/// What can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Broker,
    /// One after the other.
    Worker(usize),
    Gateway,
}

/// Everything that takes part.
pub(super) struct Stage {
    // Ends before what it needs.
    server: Option<Server>,
    workers: Vec<Running>,
    setup: Setup,
    rabbit: thermocline_rabbitmq::Server,
    /// Where requests go now.
    gateway: watch::Sender<SocketAddr>,
}

impl Stage {
    /// `None` where RabbitMQ is not installed.
    pub(super) async fn open() -> Option<Self> {
        let rabbit = thermocline_rabbitmq::Server::start().await?;
        let setup = Setup::new()
            .config(CONFIG)
            .env("THERMOCLINE_BROKER__URL", &rabbit.url())
            .env(
                "THERMOCLINE_WORKER_TOKEN",
                "a-token-of-the-chaos-run-and-no-other",
            );
        let server = setup.start().await;
        for model in MODELS {
            server.admin.deploy(spec(model)).await;
        }
        let mut workers = Vec::new();
        for number in 0..WORKERS {
            workers.push(worker(&setup, number).await);
        }
        Some(Stage {
            gateway: watch::Sender::new(server.request),
            server: Some(server),
            workers,
            setup,
            rabbit,
        })
    }

    /// Where requests go, whichever gateway it is.
    pub(super) fn gateway(&self) -> watch::Receiver<SocketAddr> {
        self.gateway.subscribe()
    }

    /// Kills `victim` and starts it again where it was.
    pub(super) async fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Broker => {
                self.rabbit.kill();
                self.rabbit.boot().await;
            }
            Victim::Worker(number) => {
                let number = number % WORKERS;
                self.workers[number].kill().await;
                self.workers[number] = worker(&self.setup, number).await;
            }
            Victim::Gateway => {
                if let Some(server) = self.server.take() {
                    server.kill().await;
                }
                let server = self.setup.start().await;
                self.gateway.send_replace(server.request);
                self.server = Some(server);
            }
        }
    }

    /// Jobs that are in any queue once nobody asks any more.
    pub(super) async fn left_behind(&self) -> u64 {
        let address = RabbitMqAddress::parse(&self.rabbit.url()).expect("an address");
        let broker = RabbitMq::start(address, "fleet", Limits::default(), Clock::system());
        let mut waiting = 0;
        for _ in 0..100 {
            waiting = 0;
            for model in MODELS {
                waiting += broker.depth(model).await.expect("a depth").waiting;
            }
            if waiting == 0 {
                break;
            }
            pause(Duration::from_millis(200)).await;
        }
        waiting
    }
}

async fn worker(setup: &Setup, number: usize) -> Running {
    let name = format!("gpu-{number}");
    let size = ["--memory", "24GiB", "--permits", "8"];
    setup.worker(&name, "sim", &size).await
}

fn spec(name: &str) -> serde_json::Value {
    json!({
        "name": name, "image": "image", "port": 8000,
        "resources": { "vram": "4GiB", "gpus": 1 },
        "tiers": { "serverless": { "provider": "fleet", "max_workers": WORKERS } },
        "concurrency": { "max_concurrency": 32 },
        "limits": { "first_byte": "20s", "deadline": "20s" },
    })
}
