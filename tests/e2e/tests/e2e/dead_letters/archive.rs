//! The archive under test, as a client of REST sees it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_clock::ManualClock;
use thermocline_support::fleet::{FakeFleet, Letter};
use thermocline_support::system::{Setup, System, manual_clock};
use thermocline_wire::fleet::{Class, FailureKind};

use crate::scene::{breathe, real_now};

const PATIENCE: Duration = Duration::from_secs(60);

/// What the shared fleet gave up, and the system that keeps it.
pub(super) struct Archive {
    pub(super) time: ManualClock,
    pub(super) fleet: FakeFleet,
    pub(super) system: System,
}

impl Archive {
    /// A system with a fleet that runs `m`.
    pub(super) async fn new() -> Archive {
        Archive::with(|setup| setup).await
    }

    pub(super) async fn with(change: impl FnOnce(Setup) -> Setup) -> Archive {
        let (time, fleet) = (manual_clock(), FakeFleet::default());
        fleet.queue("m", 0);
        let setup = change(Setup::new().on(&time).fleet(fleet.clone()));
        Archive {
            system: setup.start().await,
            time,
            fleet,
        }
    }

    pub(super) async fn crash(self) -> Archive {
        let setup = self.system.crash();
        Archive {
            system: setup.start().await,
            ..self
        }
    }

    pub(super) async fn call(&self, method: Method, path: &str) -> (u16, Value) {
        let path = format!("/fleet/dead-letters{path}");
        let (status, body) = self.system.admin.call(method, &path, None).await;
        (status.as_u16(), body)
    }

    pub(super) async fn list(&self, query: &str) -> Vec<Value> {
        let (status, body) = self.call(Method::GET, query).await;
        assert_eq!(status, 200, "{body}");
        body["items"].as_array().unwrap().clone()
    }

    pub(super) async fn read(&self, id: &str) -> Value {
        self.call(Method::GET, &format!("/{id}")).await.1
    }

    pub(super) async fn replay(&self, id: &str) -> (u16, Value) {
        self.call(Method::POST, &format!("/{id}/replay")).await
    }

    pub(super) async fn replay_group(&self, fingerprint: &Value) -> (u16, Value) {
        let body = json!({ "fingerprint": fingerprint });
        let path = "/fleet/dead-letters/replay";
        let admin = &self.system.admin;
        let (status, body) = admin.call(Method::POST, path, Some(&body)).await;
        (status.as_u16(), body)
    }

    pub(super) async fn bury(&self, letter: Letter) {
        self.fleet.bury(letter);
        self.until(async || self.fleet.unarchived() == 0).await;
    }

    pub(super) async fn until(&self, holds: impl AsyncFn() -> bool) {
        let began = real_now();
        while !holds().await {
            assert!(began.elapsed() < PATIENCE, "it never comes true");
            breathe(1).await;
        }
    }

    pub(super) async fn until_state(&self, id: &str, state: &str) -> Value {
        self.until(async || self.read(id).await["state"] == state)
            .await;
        self.read(id).await
    }
}

pub(super) fn transient(id: &str) -> Letter {
    Letter::new(
        id,
        Class::Transient,
        FailureKind::TimedOut,
        "no answer in 30 s",
    )
}
