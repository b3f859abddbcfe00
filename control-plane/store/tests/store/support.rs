use std::path::PathBuf;

use tempfile::TempDir;
use thermocline_policy::Tier;
use thermocline_store::{NewDeployment, NewInstance, Store};

/// A moment like any other.
pub(crate) const NOW: i64 = 1_700_000_000_000_000;

pub(crate) async fn in_memory() -> Store {
    Store::open("sqlite::memory:").await.unwrap()
}

/// A folder for a database file, removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("sqlite://{}", self.path(name).display())
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.url("t.db")).await.unwrap()
    }
}

pub(crate) fn deployment(name: &str, spec: &str) -> NewDeployment {
    NewDeployment {
        name: name.into(),
        spec: spec.into(),
    }
}

pub(crate) async fn with_deployments(store: &Store, names: &[&str]) {
    let new: Vec<_> = names.iter().map(|name| deployment(name, "{}")).collect();
    store.create_deployments(&new, NOW).await.unwrap();
}

pub(crate) fn instance(id: &str, deployment: &str, slot: u32) -> NewInstance {
    NewInstance {
        id: id.into(),
        deployment: deployment.into(),
        tier: Tier::Pod,
        provider: "toy".into(),
        slot,
        generation: 1,
        fingerprint: "f1".into(),
        placement: None,
        usd_per_hour: None,
    }
}
