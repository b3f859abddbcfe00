//! The suite against an adapter that keeps every clause, and against ones that break one each.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use thermocline_policy::Tier;

use super::*;
use crate::{
    Address, Capabilities, Deletion, InstancePage, Offer, OfferQuery, ProviderError,
    ProviderErrorKind, ProviderInstance, ProviderState,
};

/// How an adapter may go wrong.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    Nothing,
    MakesTwo,
    ForgetsKeys,
    ShowsStrangers,
    NeverReady,
    AddressTooEarly,
    AcceptsAnything,
    KeepsDeleted,
    PartialList,
    EndlessPages,
    RefusesUnknown,
    RefusesCreate,
}

struct Memory {
    flaw: Flaw,
    instances: Mutex<BTreeMap<String, ProviderInstance>>,
}

fn refusal(kind: ProviderErrorKind) -> ProviderError {
    ProviderError::new(kind, "refused")
}

impl Memory {
    fn with(flaw: Flaw) -> Self {
        Memory {
            flaw,
            instances: Mutex::default(),
        }
    }

    fn left(&self) -> usize {
        self.instances.lock().unwrap().len()
    }

    fn instance(&self, key: &str, owner: &str, serial: usize) -> ProviderInstance {
        let ready = self.flaw != Flaw::NeverReady && self.flaw != Flaw::AddressTooEarly;
        let address = Address {
            url: "http://127.0.0.1:1".into(),
            ..Address::default()
        };
        ProviderInstance {
            id: format!("i{serial}"),
            key: if self.flaw == Flaw::ForgetsKeys {
                String::new()
            } else {
                key.into()
            },
            owner: owner.into(),
            state: if ready {
                ProviderState::Ready
            } else {
                ProviderState::Starting
            },
            address: (self.flaw != Flaw::NeverReady).then_some(address),
            usd_per_hour: None,
            detail: String::new(),
        }
    }
}

#[async_trait]
impl Provider for Memory {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(Capabilities {
            protocol: 1,
            name: "memory".into(),
            version: "1".into(),
            tiers: vec![Tier::Pod],
            prices: false,
            lifetimes: false,
        })
    }

    async fn offers(&self, _: OfferQuery) -> Result<Vec<Offer>, ProviderError> {
        Ok(Vec::new())
    }

    async fn create(
        &self,
        key: &str,
        request: &InstanceRequest,
    ) -> Result<ProviderInstance, ProviderError> {
        if request.image.is_empty() && self.flaw != Flaw::AcceptsAnything {
            return Err(refusal(ProviderErrorKind::Invalid));
        }
        if self.flaw == Flaw::RefusesCreate {
            return Err(refusal(ProviderErrorKind::NoCapacity));
        }
        tokio::task::yield_now().await; // lets racers meet
        let mut instances = self.instances.lock().unwrap();
        let known = instances.values().find(|it| it.key == key);
        if let (Some(known), true) = (known, self.flaw != Flaw::MakesTwo) {
            return Ok(known.clone());
        }
        let made = self.instance(key, &request.owner, instances.len());
        instances.insert(made.id.clone(), made.clone());
        Ok(made)
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        Ok(self.instances.lock().unwrap().get(id).cloned())
    }

    async fn list(&self, owner: &str, _: Option<&str>) -> Result<InstancePage, ProviderError> {
        let instances = self.instances.lock().unwrap();
        let all = self.flaw == Flaw::ShowsStrangers;
        let shown = instances.values().filter(|it| all || it.owner == owner);
        let endless = self.flaw == Flaw::EndlessPages;
        Ok(InstancePage {
            instances: if endless {
                Vec::new()
            } else {
                shown.cloned().collect()
            },
            next: endless.then(|| "again".into()),
            complete: self.flaw != Flaw::PartialList,
        })
    }

    async fn delete(&self, id: &str) -> Result<Deletion, ProviderError> {
        let known = match self.flaw {
            Flaw::KeepsDeleted => self.instances.lock().unwrap().contains_key(id),
            _ => self.instances.lock().unwrap().remove(id).is_some(),
        };
        match (known, self.flaw) {
            (true, _) => Ok(Deletion::Accepted),
            (false, Flaw::RefusesUnknown) => Err(refusal(ProviderErrorKind::Unavailable)),
            (false, _) => Ok(Deletion::Unknown),
        }
    }
}

fn setup() -> Setup {
    let request = serde_json::json!({
        "owner": "", "deployment": "d", "tier": "pod", "image": "image", "port": 80
    });
    Setup {
        probe: None,
        visible_within: Duration::ZERO,
        ready_within: Duration::ZERO,
        gone_within: Duration::ZERO,
        ..Setup::new(serde_json::from_value(request).unwrap())
    }
}

async fn failed_clauses(flaw: Flaw) -> Vec<&'static str> {
    let report = run(&Memory::with(flaw), &setup()).await;
    report
        .failures()
        .map(|verdict| verdict.clause.name)
        .collect()
}

#[tokio::test]
async fn a_faithful_adapter_passes_and_is_left_empty() {
    let adapter = Memory::with(Flaw::Nothing);
    // One more look, because the cleanup counts what was there before it deleted.
    let setup = Setup {
        gone_within: Duration::from_secs(5),
        poll_every: Duration::from_millis(1),
        ..setup()
    };
    let report = run(&adapter, &setup).await;
    assert!(report.passed(), "{report}");
    assert_eq!(adapter.left(), 0);
}

#[tokio::test]
async fn each_flaw_is_caught_by_its_clause() {
    let cases = [
        (Flaw::MakesTwo, "create-idempotent"),
        (Flaw::MakesTwo, "create-concurrent"),
        (Flaw::ForgetsKeys, "create-idempotent"),
        (Flaw::ShowsStrangers, "list-other-owner"),
        (Flaw::NeverReady, "ready"),
        (Flaw::AddressTooEarly, "address-only-when-ready"),
        (Flaw::AcceptsAnything, "invalid-request"),
        (Flaw::KeepsDeleted, "deleted-absent"),
        (Flaw::KeepsDeleted, "cleanup"),
        (Flaw::PartialList, "list-pages"),
        (Flaw::EndlessPages, "list-pages"),
        (Flaw::RefusesUnknown, "unknown-id"),
        (Flaw::RefusesCreate, "create-idempotent"),
    ];
    for (flaw, clause) in cases {
        let failed = failed_clauses(flaw).await;
        assert!(failed.contains(&clause), "{clause} is not in {failed:?}");
    }
}

#[tokio::test]
async fn a_failing_run_cleans_up_too() {
    for flaw in [
        Flaw::MakesTwo,
        Flaw::NeverReady,
        Flaw::ShowsStrangers,
        Flaw::PartialList,
    ] {
        let adapter = Memory::with(flaw);
        assert!(!run(&adapter, &setup()).await.passed());
        assert_eq!(adapter.left(), 0);
    }
}

#[tokio::test]
async fn clauses_without_their_instance_are_skipped_not_failed() {
    let report = run(&Memory::with(Flaw::RefusesCreate), &setup()).await;
    let ready = report
        .verdicts()
        .iter()
        .find(|it| it.clause.name == "ready");
    assert!(matches!(ready.unwrap().outcome, Outcome::Skipped(_)));
}

#[tokio::test]
async fn a_run_can_move_between_threads() {
    let run = tokio::spawn(async { run(&Memory::with(Flaw::NeverReady), &setup()).await });
    assert!(!run.await.unwrap().passed());
}
