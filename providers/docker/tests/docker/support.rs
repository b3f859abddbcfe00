use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig, PortBinding};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
};
use futures_util::{FutureExt, StreamExt};
use thermocline_clock::Clock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Provider, ProviderInstance};
use ulid::Ulid;

pub(crate) const IMAGE: &str = "thermocline-test-backend:latest";

/// One test's view of the daemon.
pub(crate) struct Ground {
    /// Unique to the test.
    pub(crate) owner: String,
    pub(crate) provider: DockerProvider,
    /// The daemon itself, for what the provider must not be able to do.
    pub(crate) docker: Docker,
}

/// Runs `test` where a daemon was promised, and cleans up after it.
pub(crate) async fn on_docker(test: impl AsyncFnOnce(&Ground)) {
    if std::env::var("THERMOCLINE_TEST_DOCKER").as_deref() != Ok("1") {
        eprintln!("skipped: THERMOCLINE_TEST_DOCKER is not 1");
        return;
    }
    let ground = Ground::new();
    let ended = AssertUnwindSafe(test(&ground)).catch_unwind().await;
    ground.clear().await;
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

pub(crate) fn endpoint() -> String {
    std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into())
}

/// Limits that end stubborn containers soon.
pub(crate) fn limits(grace: Duration) -> Limits {
    Limits {
        grace,
        ..Limits::default()
    }
}

pub(crate) fn key() -> String {
    Ulid::generate().to_string()
}

impl Ground {
    fn new() -> Self {
        Ground {
            owner: format!("test-{}", key().to_lowercase()),
            provider: provider(&endpoint(), Limits::default()),
            docker: Docker::connect_with_unix(&endpoint(), 60, bollard::API_DEFAULT_VERSION)
                .unwrap(),
        }
    }

    /// A request for the test backend.
    pub(crate) fn request(&self, env: &[(&str, &str)]) -> InstanceRequest {
        let env = env.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        InstanceRequest {
            owner: self.owner.clone(),
            deployment: "toy".into(),
            tier: Tier::Local,
            offer: None,
            image: IMAGE.into(),
            command: Vec::new(),
            args: Vec::new(),
            env: env.collect(),
            port: 8000,
            vram_mib: 0,
            gpus: 0,
            gpu: Vec::new(),
            ready_path: "/ready".into(),
            idle_timeout_s: 0,
            max_workers: 0,
            queue_delay_s: 0,
            cpus: 0.0,
            memory_mib: 64,
            max_lifetime_s: 0,
            devices: Vec::new(),
            host_port: None,
            fleet: None,
        }
    }

    /// Every container with our owner's label, as the daemon sees it.
    pub(crate) async fn containers(&self) -> Vec<String> {
        let label = format!("thermocline.owner={}", self.owner);
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&HashMap::from([("label", vec![label])]))
            .build();
        let found = self.docker.list_containers(Some(options)).await.unwrap();
        found.into_iter().filter_map(|c| c.id).collect()
    }

    /// Runs a container that is none of ours, and returns its id.
    pub(crate) async fn stranger(&self, name: &str) -> String {
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        let body = ContainerCreateBody {
            image: Some(IMAGE.into()),
            ..Default::default()
        };
        let made = self.docker.create_container(Some(options), body).await;
        let id = made.unwrap().id;
        self.docker.start_container(&id, None).await.unwrap();
        id
    }

    /// The container of `key` as a crash between making and starting leaves it.
    pub(crate) async fn unstarted(&self, key: &str, host_port: u16) -> String {
        let name = format!("tc-{}-{}", self.owner, key.to_lowercase());
        let labels = [("owner", self.owner.as_str()), ("instance", key)];
        let labels = labels.map(|(k, v)| (format!("thermocline.{k}"), v.to_owned()));
        let binding = PortBinding {
            host_ip: Some("127.0.0.1".into()),
            host_port: Some(host_port.to_string()),
        };
        let body = ContainerCreateBody {
            image: Some(IMAGE.into()),
            labels: Some(labels.into()),
            exposed_ports: Some(vec!["8000/tcp".into()]),
            host_config: Some(HostConfig {
                port_bindings: Some(HashMap::from([("8000/tcp".into(), Some(vec![binding]))])),
                ..Default::default()
            }),
            ..Default::default()
        };
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let made = self.docker.create_container(Some(options), body).await;
        made.unwrap().id
    }

    pub(crate) async fn is_running(&self, id: &str) -> bool {
        let found = self.docker.inspect_container(id, None).await.unwrap();
        found.state.and_then(|s| s.running) == Some(true)
    }

    pub(crate) async fn remove(&self, id: &str) {
        let options = RemoveContainerOptionsBuilder::new().force(true).build();
        let _ = self.docker.remove_container(id, Some(options)).await;
    }

    /// Looks at `id` whenever a container ended, until `enough`.
    pub(crate) async fn until(
        &self,
        id: &str,
        enough: impl Fn(&Option<ProviderInstance>) -> bool,
    ) -> Option<ProviderInstance> {
        let mut hints = self.provider.watch(&self.owner);
        loop {
            let seen = self.provider.get(id).await.unwrap();
            if enough(&seen) {
                return seen;
            }
            hints.next().await;
        }
    }

    async fn clear(&self) {
        for id in self.containers().await {
            self.remove(&id).await;
        }
    }
}

pub(crate) fn provider(endpoint: &str, limits: Limits) -> DockerProvider {
    DockerProvider::connect(endpoint, limits, Clock::system()).unwrap()
}

/// What `GET path` at a ready instance answers, head and body; asked again
/// until the process in the container listens.
pub(crate) async fn ask(instance: &ProviderInstance, path: &str) -> String {
    let url = &instance.address.as_ref().expect("no address").url;
    let (host, path) = (url.replace("http://", ""), path.to_owned());
    let answer = tokio::task::spawn_blocking(move || {
        loop {
            match exchange(&host, &path) {
                Ok(answer) if !answer.is_empty() => return answer,
                _ => std::thread::yield_now(),
            }
        }
    });
    answer.await.unwrap()
}

fn exchange(host: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
