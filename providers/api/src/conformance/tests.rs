//! The suite against an adapter that keeps every clause, and against ones that break one each.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use thermocline_policy::Tier;
use tokio::time::Instant;

use super::*;
use crate::{
    Address, Capabilities, Deletion, InstancePage, Mistake, Offer, OfferQuery, ProviderError,
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
    NeverEnds,
    IgnoresRenewals,
    RenewsAnything,
    KnowsEveryGpu,
    RefusesTheTrial,
    NamesNoField,
    MakesWhatItChecks,
}

/// Only these say that they check.
const OF_CHECKS: [Flaw; 4] = [
    Flaw::KnowsEveryGpu,
    Flaw::RefusesTheTrial,
    Flaw::NamesNoField,
    Flaw::MakesWhatItChecks,
];

/// Only these have lifetimes: to try them takes real time.
const OF_LIFETIMES: [Flaw; 3] = [Flaw::NeverEnds, Flaw::IgnoresRenewals, Flaw::RenewsAnything];

struct Memory {
    flaw: Flaw,
    lifetimes: bool,
    checks: bool,
    instances: Mutex<BTreeMap<String, ProviderInstance>>,
    /// When those end that have a lifetime, by id.
    ends: Mutex<BTreeMap<String, Instant>>,
}

fn refusal(kind: ProviderErrorKind) -> ProviderError {
    ProviderError::new(kind, "refused")
}

impl Memory {
    fn with(flaw: Flaw) -> Self {
        Memory {
            flaw,
            lifetimes: OF_LIFETIMES.contains(&flaw),
            checks: OF_CHECKS.contains(&flaw),
            instances: Mutex::default(),
            ends: Mutex::default(),
        }
    }

    /// Lets what has come to its end be gone.
    fn expire(&self) {
        let now = Instant::now();
        let ended = |id: &String| {
            self.ends
                .lock()
                .unwrap()
                .get(id)
                .is_some_and(|at| *at <= now)
        };
        self.instances.lock().unwrap().retain(|id, _| !ended(id));
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
            lifetimes: self.lifetimes,
            checks: self.checks,
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
        if request.max_lifetime_s > 0 && self.flaw != Flaw::NeverEnds {
            let end = Instant::now() + Duration::from_secs(request.max_lifetime_s);
            self.ends.lock().unwrap().insert(made.id.clone(), end);
        }
        Ok(made)
    }

    async fn renew(&self, id: &str, _: Duration) -> Result<bool, ProviderError> {
        if self.flaw != Flaw::IgnoresRenewals {
            self.ends.lock().unwrap().remove(id);
        }
        let known = self.instances.lock().unwrap().contains_key(id);
        Ok(known || self.flaw == Flaw::RenewsAnything)
    }

    async fn lacks(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, ProviderError> {
        if self.flaw == Flaw::MakesWhatItChecks {
            self.create("checked", request).await?;
        }
        let field = match self.flaw {
            Flaw::NamesNoField => "",
            _ => "gpu[0]",
        };
        let wrong = match self.flaw {
            Flaw::KnowsEveryGpu => false,
            Flaw::RefusesTheTrial => true,
            _ => !request.gpu.is_empty(),
        };
        Ok(wrong
            .then(|| Mistake::in_tier(field, "is no GPU of memory"))
            .into_iter()
            .collect())
    }

    async fn get(&self, id: &str) -> Result<Option<ProviderInstance>, ProviderError> {
        self.expire();
        Ok(self.instances.lock().unwrap().get(id).cloned())
    }

    async fn list(&self, owner: &str, _: Option<&str>) -> Result<InstancePage, ProviderError> {
        self.expire();
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
        lifetime: Duration::from_secs(1),
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
    let adapter = Memory {
        lifetimes: true,
        checks: true,
        ..Memory::with(Flaw::Nothing)
    };
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
        (Flaw::NeverEnds, "lifetime-ends"),
        (Flaw::IgnoresRenewals, "lifetime-renewed"),
        (Flaw::RenewsAnything, "lifetime-renewed"),
        (Flaw::KnowsEveryGpu, "check"),
        (Flaw::RefusesTheTrial, "check"),
        (Flaw::NamesNoField, "check"),
        (Flaw::MakesWhatItChecks, "check"),
    ];
    let runs = cases.map(|(flaw, _)| failed_clauses(flaw));
    let failed = futures_util::future::join_all(runs).await;
    for ((_, clause), failed) in cases.iter().zip(failed) {
        assert!(failed.contains(clause), "{clause} is not in {failed:?}");
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
async fn lifetimes_are_not_tried_where_there_are_none() {
    let report = run(&Memory::with(Flaw::Nothing), &setup()).await;
    let skipped = report.verdicts().iter().filter(|verdict| {
        verdict.clause.name.starts_with("lifetime")
            && verdict.outcome == Outcome::Skipped("it says no lifetimes".to_owned())
    });
    assert_eq!(skipped.count(), 2, "{report}");
}

#[tokio::test]
async fn a_run_can_move_between_threads() {
    let run = tokio::spawn(async { run(&Memory::with(Flaw::NeverReady), &setup()).await });
    assert!(!run.await.unwrap().passed());
}

#[tokio::test]
async fn what_takes_too_long_ends_in_time_says_what_was_not_reached_and_leaves_nothing() {
    let memory = Memory::with(Flaw::NeverReady);
    let setup = Setup {
        ready_within: Duration::from_secs(600),
        gone_within: Duration::from_secs(5),
        poll_every: Duration::from_millis(1),
        limit: Some(Duration::from_millis(300)),
        ..setup()
    };
    let mut told = Vec::new();
    let report = run_telling(&memory, &setup, |verdict| told.push(verdict.clone())).await;
    assert_eq!(told, report.verdicts());
    let failed: Vec<&Verdict> = report.failures().collect();
    let [late] = failed[..] else {
        panic!("{report}")
    };
    assert_eq!(late.clause, ready::READY);
    let outcome = |clause: Clause| {
        let of_it = |verdict: &&Verdict| verdict.clause == clause;
        report
            .verdicts()
            .iter()
            .find(of_it)
            .unwrap()
            .outcome
            .clone()
    };
    let skipped = Outcome::Skipped("not reached: the time was over".to_owned());
    assert_eq!(outcome(delete::TWICE), skipped);
    assert_eq!(outcome(delete::CLEANUP), Outcome::Passed);
    assert_eq!(memory.left(), 0);
}
