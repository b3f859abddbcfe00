//! Pods that are workers of the shared fleet: how many there are follows its
//! work, and none goes before it has drained.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use thermocline_server::PoolSettings;
use thermocline_support::fleet::FakeFleet;
use thermocline_support::provider::FakeProvider;
use thermocline_support::system::{Setup, manual_clock};
use thermocline_wire::fleet::WorkerState;

use crate::scene::{SECOND, Scene, ok, secs};

/// What instances were told of their names.
type Names = Arc<Mutex<BTreeMap<String, String>>>;

struct Pool {
    scene: Scene,
    fleet: FakeFleet,
    names: Names,
}

impl Pool {
    /// A fleet that runs `sdxl`, and a pool `m` of `min` to four pods.
    async fn new(min: u32, settings: PoolSettings) -> Pool {
        let (time, fleet, names) = (manual_clock(), FakeFleet::default(), Names::default());
        fleet.queue("sdxl", 0);
        let told = names.clone();
        let cloud = FakeProvider::new(&time.clock(), move |request| {
            let mut told = told.lock().unwrap();
            let name = request.env["THERMOCLINE_WORKER_NAME"].clone();
            told.insert(name, request.deployment.clone());
            ok().into()
        });
        let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
        setup = setup.fleet(fleet.clone());
        setup.pool = Some(settings);
        let system = setup.start().await;
        let scene = Scene {
            time,
            cloud,
            system,
        };
        let pod = json!({ "provider": "toy", "min_instances": min, "max_instances": 4 });
        let resources = json!({ "resources": { "gpus": 1 } });
        scene.deploy(json!({ "pod": pod }), resources).await;
        Pool {
            scene,
            fleet,
            names,
        }
    }

    /// The pods that exist, by the names of their workers.
    fn pods(&self) -> Vec<String> {
        let live = self.scene.cloud.truth().live.into_iter();
        live.map(|instance| instance.key.to_lowercase()).collect()
    }

    /// Every pod's worker reports two permits, `in_flight` of them in use.
    fn report(&self, in_flight: u32) {
        for pod in self.pods() {
            self.fleet.worker(&pod, in_flight);
        }
    }

    async fn until_ready(&self, pods: usize) {
        let ready = async || {
            let status = self.scene.status().await;
            let instances = status["instances"].as_array().unwrap();
            instances.iter().filter(|it| it["state"] == "ready").count() == pods
        };
        self.scene.until(SECOND, ready).await;
    }
}

fn usual() -> PoolSettings {
    PoolSettings::of("m")
}

#[tokio::test]
async fn a_backlog_starts_the_first_worker_and_utilisation_the_next() {
    let pool = Pool::new(0, usual()).await;
    pool.scene.pass(secs(3)).await;
    assert!(pool.pods().is_empty(), "nothing waits");
    pool.fleet.waiting("sdxl", 1);
    pool.until_ready(1).await;
    assert_eq!(
        pool.names.lock().unwrap().keys().next(),
        pool.pods().first()
    );
    pool.fleet.waiting("sdxl", 0);
    pool.report(2);
    pool.until_ready(2).await;
}

#[tokio::test]
async fn no_backlog_however_long_starts_more_than_the_most() {
    let pool = Pool::new(0, usual()).await;
    pool.fleet.waiting("sdxl", 100_000);
    pool.until_ready(4).await;
    pool.scene.pass(secs(10)).await;
    assert_eq!(pool.scene.cloud.truth().created, 4);
}

#[tokio::test]
async fn the_budget_of_gpus_bounds_the_pods() {
    let settings = PoolSettings {
        gpu_budget: Some(2),
        ..usual()
    };
    for least in [0, 3] {
        let pool = Pool::new(least, settings.clone()).await;
        pool.fleet.waiting("sdxl", 100_000);
        pool.until_ready(2).await;
        pool.scene.pass(secs(10)).await;
        assert_eq!(pool.scene.cloud.truth().created, 2);
    }
}

#[tokio::test]
async fn workers_that_are_there_anyway_count_towards_the_wish() {
    let pool = Pool::new(0, usual()).await;
    pool.fleet.worker("own-box-1", 1);
    pool.fleet.worker("own-box-2", 1);
    pool.fleet.waiting("sdxl", 3);
    pool.scene.pass(secs(10)).await;
    assert!(pool.pods().is_empty(), "two boxes are enough");
}

#[tokio::test]
async fn the_fewest_are_there_without_work() {
    let pool = Pool::new(2, usual()).await;
    pool.until_ready(2).await;
    pool.report(0);
    pool.scene.pass(secs(400)).await;
    assert_eq!(pool.pods().len(), 2);
}

#[tokio::test]
async fn a_worker_goes_late_and_only_when_it_has_drained() {
    let pool = Pool::new(0, usual()).await;
    pool.fleet.waiting("sdxl", 1);
    pool.until_ready(1).await;
    pool.fleet.waiting("sdxl", 0);
    pool.report(1);
    let pod = pool.pods()[0].clone();
    pool.fleet.worker(&pod, 0);
    pool.scene.pass_in(secs(280), secs(5)).await;
    assert!(pool.fleet.draining().is_empty(), "the wish of before holds");
    let told = async || pool.fleet.draining() == [pod.clone()];
    pool.scene.until(secs(5), told).await;

    pool.scene.pass(secs(20)).await;
    assert_eq!(
        pool.pods().len(),
        1,
        "it has not said that it takes no more"
    );
    pool.fleet.worker_that(&pod, WorkerState::Draining, 1);
    pool.scene.pass(secs(20)).await;
    assert_eq!(pool.pods().len(), 1, "it has a job in hand");
    pool.fleet.worker_that(&pod, WorkerState::Draining, 0);
    pool.scene.until_live(0).await;
}

#[tokio::test]
async fn a_worker_that_is_needed_after_all_goes_on() {
    let settings = PoolSettings {
        down_after: secs(5),
        ..usual()
    };
    let pool = Pool::new(0, settings).await;
    pool.fleet.waiting("sdxl", 1);
    pool.until_ready(1).await;
    pool.fleet.waiting("sdxl", 0);
    pool.report(0);
    let drains = async || pool.fleet.draining().len() == 1;
    pool.scene.until(SECOND, drains).await;
    pool.fleet.waiting("sdxl", 5);
    let goes_on = async || pool.fleet.draining().is_empty();
    pool.scene.until(SECOND, goes_on).await;
    pool.until_ready(1).await;
    assert_eq!(pool.scene.cloud.truth().created, 1);
}
