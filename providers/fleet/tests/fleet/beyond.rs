//! Models that no worker could ever hold.

use std::time::Duration;

use serde_json::{Value, json};
use thermocline_broker::{Broker, Topic};
use thermocline_clock::ManualClock;
use thermocline_fleet::Settings;
use thermocline_provider::Provider;
use thermocline_provider::fleet::{FleetResult, SharedFleet};
use thermocline_wire::fleet::Terms;

use crate::scene::{Asked, Scene, report, settings, still};

/// A fleet whose deployment `m` needs 40 GiB, and that has listened long enough.
struct Stage {
    scene: Scene,
    time: ManualClock,
    sequence: u64,
}

fn terms() -> Terms {
    Terms {
        memory_mib: 40 << 10,
        ..Terms::default()
    }
}

impl Stage {
    async fn with(settings: Settings) -> Stage {
        let stage = Stage::just_started(settings).await;
        stage.time.advance(Duration::from_secs(10));
        stage
    }

    /// One that has listened for no time yet.
    async fn just_started(settings: Settings) -> Stage {
        let time = still();
        let scene = Scene::with(settings, time.clock()).await;
        let request = json!({
            "owner": "o", "deployment": "m", "tier": "serverless", "image": "image", "port": 8000,
            "fleet": { "start_timeout_ms": 1_000, "terms": terms() },
        });
        let request = serde_json::from_value(request).unwrap();
        scene.fleet.create("newer", &request).await.unwrap();
        // Its look-out begins with its listener, in a task of its own.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let sequence = 0;
        Stage {
            scene,
            time,
            sequence,
        }
    }

    /// `worker` reports, with so many GiB on each GPU and what its token may pull.
    async fn reports(&mut self, worker: &str, gib: &[u64], may_pull: &str) {
        self.reports_with(worker, gib, may_pull, &[]).await;
    }

    /// The same, of which pinned models hold so many GiB of each.
    async fn reports_with(&mut self, worker: &str, gib: &[u64], may_pull: &str, pinned: &[u64]) {
        self.sequence += 1;
        let valid = Duration::from_secs(6);
        let text = report(worker, "1", self.sequence, valid);
        let mut text = serde_json::to_value(&text).unwrap();
        text["memory_mib"] = json!(gib.iter().sum::<u64>() << 10);
        text["devices_mib"] = gib.iter().map(|gib| gib << 10).collect();
        text["pinned_mib"] = pinned.iter().map(|gib| gib << 10).collect();
        text["may_pull"] = json!([may_pull]);
        let text = serde_json::to_vec(&text).unwrap();
        let told = self.scene.broker.announce(Topic::Report, text.into());
        told.await.unwrap();
        let (fleet, now) = (&self.scene.fleet, Duration::ZERO);
        let heard = || {
            let workers = fleet.workers();
            workers
                .iter()
                .any(|it| it.report.worker == worker && it.age == now)
        };
        while !heard() {
            tokio::task::yield_now().await;
        }
    }

    fn unserved(&self) -> Option<String> {
        self.scene.fleet.unserved("m", &terms())
    }

    /// A request waits, as it would for any worker that is busy.
    async fn waits(&self) {
        self.parked().await.leave();
        self.scene.at_rest().await;
    }

    /// A request that is parked.
    async fn parked(&self) -> Asked {
        let asked = self.scene.ask_within("prompt", Duration::from_secs(600));
        self.scene.until(|tally| tally.parked == 1).await;
        asked
    }

    /// A request is refused at once.
    async fn refuses(&self) {
        no_capacity(self.scene.ask("prompt")).await;
    }
}

/// It is told that nobody could ever answer it.
async fn no_capacity(asked: Asked) {
    let response = asked.response().await;
    assert_eq!(response.status(), 503);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "no_capacity");
}

#[tokio::test]
async fn who_came_before_workers_were_known_is_told_once_they_are() {
    let mut stage = Stage::just_started(settings()).await;
    stage.reports("small", &[24], "*").await;
    let asked = stage.parked().await;
    stage.time.advance(Duration::from_secs(10));
    stage.reports("small", &[24], "*").await;
    stage.time.advance(Duration::from_secs(1));
    no_capacity(asked).await;
    assert_eq!(stage.scene.ended(FleetResult::Unavailable), 1);
}

#[tokio::test]
async fn who_waits_for_the_only_worker_that_could_is_told_once_that_is_gone_for_good() {
    let mut stage = Stage::with(settings()).await;
    stage.reports("large", &[80], "*").await;
    let asked = stage.parked().await;
    stage.time.advance(Duration::from_secs(30));
    stage.reports("small", &[24], "*").await;
    stage.time.advance(Duration::from_secs(31));
    stage.reports("small", &[24], "*").await;
    stage.time.advance(Duration::from_secs(1));
    no_capacity(asked).await;
}

#[tokio::test]
async fn a_model_that_pinned_ones_leave_no_room_is_refused_with_that_reason() {
    let mut stage = Stage::with(settings()).await;
    stage.reports_with("full", &[80], "*", &[60]).await;
    assert_eq!(
        stage.unserved().unwrap(),
        "pinned models leave no worker of the fleet the memory: it needs 40 GiB, at most 20 GiB \
         is left"
    );
    stage.refuses().await;
    stage.reports_with("full", &[80], "*", &[40]).await;
    stage.waits().await;
}

#[tokio::test]
async fn a_model_that_is_larger_than_every_worker_is_refused_at_once() {
    let mut stage = Stage::with(settings()).await;
    stage.reports("small", &[24, 24], "*").await;
    assert_eq!(
        stage.unserved().unwrap(),
        "no worker of the fleet has the memory: it needs 40 GiB, the largest has 24 GiB"
    );
    stage.refuses().await;
    assert_eq!(stage.scene.ended(FleetResult::Unavailable), 1);
    stage.reports("large", &[80], "*").await;
    assert_eq!(stage.unserved(), None);
    stage.waits().await;
}

#[tokio::test]
async fn a_model_that_no_worker_may_pull_is_refused_at_once() {
    let mut stage = Stage::with(settings()).await;
    stage.reports("theirs", &[80], "other-*").await;
    assert!(stage.unserved().unwrap().contains("may pull"));
    stage.refuses().await;
}

#[tokio::test]
async fn a_worker_that_is_restarted_is_waited_for_and_one_that_is_gone_is_not() {
    let mut stage = Stage::with(settings()).await;
    stage.reports("large", &[80], "*").await;
    stage.time.advance(Duration::from_secs(30));
    stage.reports("small", &[24], "*").await;
    assert!(stage.unserved().is_some(), "it is not there now");
    stage.waits().await;
    stage.time.advance(Duration::from_secs(31));
    stage.reports("small", &[24], "*").await;
    stage.refuses().await;
}

#[tokio::test]
async fn who_knows_of_no_worker_waits_for_one() {
    let mut stage = Stage::with(settings()).await;
    assert!(stage.unserved().unwrap().contains("has reported yet"));
    stage.waits().await;
    stage.reports("small", &[24], "*").await;
    stage.time.advance(Duration::from_secs(180));
    assert_eq!(
        stage.unserved().unwrap(),
        "no worker of the fleet has reported for 3m"
    );
    stage.waits().await;
}

#[tokio::test]
async fn a_pool_may_start_a_larger_one() {
    let pool = Settings {
        pool: true,
        ..settings()
    };
    let mut stage = Stage::with(pool).await;
    assert_eq!(stage.unserved(), None);
    stage.reports("small", &[24], "*").await;
    assert!(stage.unserved().is_some());
    stage.waits().await;
}

#[tokio::test]
async fn who_could_not_listen_knows_nothing_of_workers() {
    let mut stage = Stage::with(settings()).await;
    stage.reports("small", &[24], "*").await;
    stage.scene.line.cut();
    stage.time.advance(Duration::from_secs(2));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    stage.scene.line.restore();
    assert_eq!(stage.unserved(), None);
    stage.waits().await;
}
