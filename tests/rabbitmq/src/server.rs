use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::ports::Ports;
use crate::process::Group;

/// Where Debian has the server's own script; the one in the path wants to be another user.
const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// The longest that the server may take to start.
const PATIENCE: Duration = Duration::from_secs(90);

/// A RabbitMQ on ports of its own, with what it keeps in a temporary directory.
pub struct Server {
    directory: TempDir,
    ports: Ports,
    node: Option<Group>,
    _epmd: Group,
}

impl Server {
    /// Starts one and waits until it answers. `None` where RabbitMQ is not
    /// installed, unless `THERMOCLINE_TEST_RABBITMQ=1` promises it.
    pub async fn start() -> Option<Self> {
        let promised = std::env::var("THERMOCLINE_TEST_RABBITMQ").as_deref() == Ok("1");
        if !Path::new(PROGRAM).exists() && !promised {
            eprintln!("skipped: RabbitMQ is not installed");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let ports = Ports::free();
        let epmd = format!("epmd -port {} -address 127.0.0.1", ports.epmd);
        let epmd =
            Group::start(&epmd, &[], &directory.path().join("epmd.log")).expect("epmd starts");
        let mut server = Server {
            directory,
            ports,
            node: None,
            _epmd: epmd,
        };
        server.write_configuration();
        server.boot().await;
        Some(server)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.ports.amqp
    }

    /// Its address, with credentials.
    pub fn url(&self) -> String {
        url(self.ports.amqp)
    }

    /// Kills it, as a crash would; what it had confirmed stays on its disk.
    pub fn kill(&mut self) {
        self.node = None;
    }

    /// Starts it where it was killed, and waits until it answers.
    pub async fn boot(&mut self) {
        self.ports.wait_until_free().await;
        let log = self.file("server.log");
        self.node = Some(Group::start(PROGRAM, &self.environment(), &log).expect("a shell"));
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.ports.amqp))
            .await
            .is_err()
        {
            let told = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(
                began.elapsed() < PATIENCE,
                "RabbitMQ does not start: {}",
                told()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn write_configuration(&self) {
        let configuration = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\n\
             vm_memory_high_watermark.absolute = 512MiB\n\
             disk_free_limit.absolute = 1MB\n",
            self.ports.amqp
        );
        std::fs::write(self.file("rabbitmq.conf"), configuration).expect("a file");
        std::fs::write(self.file("plugins"), "[].\n").expect("a file");
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let path = |name| self.file(name).display().to_string();
        vec![
            ("HOME", path("")),
            ("RABBITMQ_NODENAME", "thermocline@localhost".into()),
            ("RABBITMQ_DIST_PORT", self.ports.distribution.to_string()),
            ("ERL_EPMD_PORT", self.ports.epmd.to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".into()),
            ("RABBITMQ_CONFIG_FILE", path("rabbitmq.conf")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", path("plugins")),
            ("RABBITMQ_MNESIA_BASE", path("data")),
            ("RABBITMQ_LOG_BASE", path("log")),
            // Does not spin while it waits: the tests have few cores.
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none".into(),
            ),
        ]
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The address of a RabbitMQ on this machine, or of what stands before it.
pub(crate) fn url(port: u16) -> String {
    format!("amqp://guest:guest@127.0.0.1:{port}")
}
