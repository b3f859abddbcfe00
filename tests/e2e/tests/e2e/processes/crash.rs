//! Crash loops: the server is killed at moments that nobody chose, under load,
//! and nothing that exists is ever unknown, double or on another tier.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_support::client::RawClient;
use thermocline_support::process::{Server, Setup};
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::docker_tier::daemon;

const CLOUD: &str =
    "pod_boot = \"150ms\"\ncold_start = \"20ms\"\nservice_time = \"5ms\"\ncapacity = 20";

/// Deployments that keep their tier, and two that come and go all the time.
fn specs() -> Vec<Value> {
    let serverless = json!({ "provider": "toy" });
    let pod = json!({ "provider": "toy", "idle_timeout": "10m" });
    let brief = json!({ "provider": "toy", "idle_timeout": "100ms" });
    let two = json!({ "serverless": serverless, "pod": pod });
    let promoted = json!({ "promote_rps": 0.01, "demote_rps": 0.001 });
    let never = json!({ "promote_rps": 1000.0 });
    vec![
        json!({ "name": "cheap", "image": "i", "tiers": two, "policy": never }),
        json!({ "name": "busy", "image": "i", "tiers": two, "policy": promoted }),
        json!({ "name": "brief-1", "image": "i", "tiers": { "pod": brief } }),
        json!({ "name": "brief-2", "image": "i", "tiers": { "pod": brief } }),
    ]
}

fn loops(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |loops| loops.parse().unwrap())
}

/// One run of crashes; what exists is asked of the provider itself.
struct Crashes {
    setup: Setup,
    specs: Vec<Value>,
    /// None for the simulated cloud.
    docker: Option<String>,
}

/// What the crashes have shown.
#[derive(Debug, Default)]
struct Findings {
    served: usize,
    existing: usize,
    orphans: usize,
    doubles: usize,
    moved: usize,
}

impl Crashes {
    async fn run(&self, loops: u32) -> Findings {
        let mut chance = Chance::new();
        let mut findings = Findings::default();
        let mut tiers = BTreeMap::new();
        for round in 0..loops {
            let server = self.setup.start().await;
            for spec in self.specs.iter().filter(|_| round == 0) {
                server.admin.deploy(spec.clone()).await;
            }
            findings.moved += self.moved(&server, &tiers).await;
            let mut load = self.load(server.request);
            pause(Duration::from_millis(chance.between(20, 900))).await;
            tiers = self.tiers(&server).await;
            drop(server.kill().await);
            while let Some(served) = load.join_next().await {
                findings.served += served.unwrap();
            }
            self.look(&mut findings).await;
        }
        findings
    }

    /// Ten clients that ask until their server is gone; each says how often it was served.
    fn load(&self, request: SocketAddr) -> JoinSet<usize> {
        let name = |spec: &Value| spec["name"].as_str().unwrap().to_owned();
        let names: Vec<String> = self.specs.iter().map(name).collect();
        let clients = (0..10).map(|n| ask(request, names[n % names.len()].clone()));
        clients.collect()
    }

    async fn tiers(&self, server: &Server) -> BTreeMap<String, Value> {
        let mut tiers = BTreeMap::new();
        for spec in &self.specs {
            let name = spec["name"].as_str().unwrap();
            let tier = server.admin.status(name).await["tier"].clone();
            tiers.insert(name.to_owned(), tier);
        }
        tiers
    }

    /// How many deployments are on another tier than before.
    async fn moved(&self, server: &Server, before: &BTreeMap<String, Value>) -> usize {
        let now = self.tiers(server).await;
        let moved = |(name, tier): (&String, &Value)| !tier.is_null() && now[name] != *tier;
        before.iter().filter(|entry| moved(*entry)).count()
    }

    /// Compares what exists with what is written down, while no server runs.
    async fn look(&self, findings: &mut Findings) {
        let exists = match &self.docker {
            Some(endpoint) => self.setup.in_docker(endpoint).await,
            None => self.setup.in_cloud().await,
        };
        let known = self.setup.written_down().await;
        let mut places: Vec<&String> = exists.iter().filter_map(|key| known.get(key)).collect();
        findings.existing += exists.len();
        findings.orphans += exists.len() - places.len();
        places.sort_unstable();
        findings.doubles += places.windows(2).filter(|pair| pair[0] == pair[1]).count();
    }

    /// After the last crash: whoever is left to itself comes to rest, and what
    /// exists then is what is said to.
    async fn settle(&self) {
        let server = self.setup.start().await;
        for spec in &self.specs {
            let name = spec["name"].as_str().unwrap();
            let mut client = server.client().await;
            let answer = client.request("GET", &format!("/d/{name}/")).send().await;
            assert_eq!(answer.unwrap().status, 200, "{name}: {}", server.stderr());
            let (_, body) = server
                .admin
                .call(
                    reqwest::Method::DELETE,
                    &format!("/deployments/{name}"),
                    None,
                )
                .await;
            assert_eq!(body["status"]["state"], "deleting", "{body}");
            let gone = |deployment: &Value| deployment.is_null();
            server.admin.wait_status(name, gone).await;
        }
        let exists = match &self.docker {
            Some(endpoint) => self.setup.in_docker(endpoint).await,
            None => self.setup.in_cloud().await,
        };
        assert_eq!(exists, [] as [String; 0]);
    }
}

async fn ask(request: SocketAddr, name: String) -> usize {
    let mut served = 0;
    let Ok(mut client) = RawClient::connect(request).await else {
        return served;
    };
    let target = format!("/d/{name}/work");
    while let Ok(answer) = client.request("GET", &target).send().await {
        served += usize::from(answer.status == 200);
        // Those that come and go do it in the gaps.
        if name.starts_with("brief") {
            pause(Duration::from_millis(250)).await;
        }
    }
    served
}

async fn verdict(crashes: Crashes, loops: u32) {
    let findings = crashes.run(loops).await;
    eprintln!("{loops} crashes: {findings:?}");
    let Findings {
        served,
        existing,
        orphans,
        doubles,
        moved,
    } = findings;
    assert!(served > 0 && existing > 0);
    assert_eq!((orphans, doubles, moved), (0, 0, 0));
    crashes.settle().await;
}

/// `THERMOCLINE_TEST_CRASHES` says how many.
#[tokio::test]
async fn crashes_under_load_lose_nothing_and_double_nothing() {
    let crashes = Crashes {
        setup: Setup::new().with_cloud(CLOUD),
        specs: specs(),
        docker: None,
    };
    verdict(crashes, loops("THERMOCLINE_TEST_CRASHES", 6)).await;
}

/// `THERMOCLINE_TEST_DOCKER_CRASHES` says how many.
#[tokio::test]
async fn crashes_lose_no_container_and_double_none() {
    let Some(endpoint) = daemon() else { return };
    let local = |name: &str, idle: &str| {
        let health = json!({ "ready": { "path": "/ready", "interval": "50ms" } });
        let tiers = json!({ "local": { "idle_timeout": idle } });
        json!({ "name": name, "image": crate::docker_tier::IMAGE, "tiers": tiers, "health": health })
    };
    let crashes = Crashes {
        setup: Setup::new().with_docker(&endpoint),
        specs: vec![local("kept", "10m"), local("brief-1", "100ms")],
        docker: Some(endpoint),
    };
    verdict(crashes, loops("THERMOCLINE_TEST_DOCKER_CRASHES", 4)).await;
}

#[allow(clippy::disallowed_methods)] // a crash comes at a moment of real time
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
