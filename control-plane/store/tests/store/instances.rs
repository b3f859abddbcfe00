use thermocline_policy::{Ceilings, InstanceState, NanoUsd, OverBudget, Tier};
use thermocline_store::{
    Allowance, Charged, InstanceChanges, InstanceRow, NewInstance, Postings, Store, StoreError,
};

use crate::support::{Folder, NOW, in_memory, instance, with_deployments};

fn starting(provider_id: &str) -> InstanceState {
    InstanceState::Starting {
        provider_id: provider_id.into(),
    }
}

async fn advance(store: &Store, row: &InstanceRow, state: InstanceState) -> InstanceRow {
    let changes = InstanceChanges::default();
    let epoch = store
        .advance(&row.id, row.epoch, &state, changes, NOW)
        .await
        .unwrap();
    let now = store.instance(&row.id).await.unwrap().unwrap();
    assert_eq!(epoch, Some(now.epoch));
    now
}

async fn store_with(names: &[&str]) -> Store {
    let store = in_memory().await;
    with_deployments(&store, names).await;
    store
}

#[tokio::test]
async fn an_intent_reads_back() {
    let store = store_with(&["a"]).await;
    let new = NewInstance {
        placement: Some("{}".into()),
        usd_per_hour: Some(NanoUsd(1_200_000_000)),
        ..instance("i1", "a", 3)
    };
    let row = store.intend(&new, NOW).await.unwrap();
    let expected = InstanceRow {
        id: "i1".into(),
        deployment: "a".into(),
        tier: Tier::Pod,
        provider: "toy".into(),
        slot: 3,
        state: InstanceState::Intended,
        epoch: 1,
        generation: 1,
        fingerprint: "f1".into(),
        address: None,
        placement: Some("{}".into()),
        usd_per_hour: Some(NanoUsd(1_200_000_000)),
        detail: String::new(),
        created_at: NOW,
        changed_at: NOW,
    };
    assert_eq!(row, expected);
    assert_eq!(store.instances().await.unwrap(), [expected]);
}

#[tokio::test]
async fn one_start_per_deployment_tier_and_slot() {
    let store = store_with(&["a", "b"]).await;
    let first = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let again = instance("i2", "a", 0);
    let refused = store.intend(&again, NOW).await;
    assert!(matches!(refused, Err(StoreError::StartInProgress)));
    let first = advance(&store, &first, starting("p1")).await;
    let refused = store.intend(&again, NOW).await;
    assert!(matches!(refused, Err(StoreError::StartInProgress)));

    store.intend(&instance("i3", "a", 1), NOW).await.unwrap();
    store.intend(&instance("i4", "b", 0), NOW).await.unwrap();
    let serverless = NewInstance {
        tier: Tier::Serverless,
        ..instance("i5", "a", 0)
    };
    store.intend(&serverless, NOW).await.unwrap();

    advance(
        &store,
        &first,
        InstanceState::Ready {
            provider_id: "p1".into(),
        },
    )
    .await;
    store.intend(&again, NOW).await.unwrap();
}

#[tokio::test]
async fn of_many_starts_at_once_from_two_processes_one_is_made() {
    let folder = Folder::new();
    let stores = [folder.open().await, folder.open().await];
    with_deployments(&stores[0], &["a"]).await;
    let mut tries = tokio::task::JoinSet::new();
    for i in 0..40 {
        let store = stores[i % 2].clone();
        tries.spawn(async move { store.intend(&instance(&format!("i{i}"), "a", 0), NOW).await });
    }
    let (made, refused): (Vec<_>, Vec<_>) =
        tries.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(made.len(), 1);
    assert!(
        refused
            .iter()
            .all(|r| matches!(r, Err(StoreError::StartInProgress))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn nothing_is_started_for_what_is_not_wanted() {
    let store = store_with(&["a"]).await;
    let refused = store.intend(&instance("i1", "x", 0), NOW).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))));
    store.set_deleting("a", NOW).await.unwrap();
    let refused = store.intend(&instance("i1", "a", 0), NOW).await;
    assert!(matches!(refused, Err(StoreError::Deleting(_))));
    assert_eq!(store.instances().await.unwrap(), []);
}

#[tokio::test]
async fn an_id_is_used_once() {
    let store = store_with(&["a"]).await;
    store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let refused = store.intend(&instance("i1", "a", 1), NOW).await;
    assert!(matches!(refused, Err(StoreError::Exists(id)) if id == "i1"));
}

#[tokio::test]
async fn every_state_reads_back() {
    let store = store_with(&["a"]).await;
    let mut row = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let provider_id = || "p1".to_owned();
    for state in [
        starting("p1"),
        InstanceState::Ready {
            provider_id: provider_id(),
        },
        InstanceState::Draining {
            provider_id: provider_id(),
        },
        InstanceState::Stopping {
            provider_id: Some(provider_id()),
        },
        InstanceState::Stopping { provider_id: None },
        InstanceState::Gone,
    ] {
        row = advance(&store, &row, state.clone()).await;
        assert_eq!(row.state, state);
    }
    assert_eq!(row.epoch, 7);
    assert_eq!(store.instances().await.unwrap(), []);
}

#[tokio::test]
async fn a_stale_writer_changes_nothing() {
    let store = store_with(&["a"]).await;
    let old = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let new = advance(&store, &old, starting("p1")).await;
    let changes = InstanceChanges {
        detail: Some("late".into()),
        ..InstanceChanges::default()
    };
    let stopping = InstanceState::Stopping { provider_id: None };
    let written = store
        .advance("i1", old.epoch, &stopping, changes, NOW)
        .await
        .unwrap();
    assert_eq!(written, None);
    assert!(!store.forget_instance("i1", old.epoch).await.unwrap());
    assert_eq!(store.instance("i1").await.unwrap(), Some(new));
}

#[tokio::test]
async fn changes_keep_what_they_do_not_name() {
    let store = store_with(&["a"]).await;
    let row = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let changes = InstanceChanges {
        address: Some("{\"url\":\"http://x\"}".into()),
        usd_per_hour: Some(NanoUsd(7)),
        detail: Some("pulling".into()),
    };
    store
        .advance("i1", row.epoch, &starting("p1"), changes, NOW + 1)
        .await
        .unwrap();
    let detail = InstanceChanges {
        detail: Some("loading".into()),
        ..InstanceChanges::default()
    };
    store
        .advance("i1", row.epoch + 1, &starting("p1"), detail, NOW + 2)
        .await
        .unwrap();
    let row = store.instance("i1").await.unwrap().unwrap();
    assert_eq!(row.address.as_deref(), Some("{\"url\":\"http://x\"}"));
    assert_eq!(row.usd_per_hour, Some(NanoUsd(7)));
    assert_eq!(row.detail, "loading");
    assert_eq!(row.changed_at, NOW + 1, "the state is the same since then");
}

#[tokio::test]
async fn a_revival_cannot_make_a_second_start() {
    let store = store_with(&["a"]).await;
    let first = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let first = advance(
        &store,
        &first,
        InstanceState::Stopping { provider_id: None },
    )
    .await;
    store.intend(&instance("i2", "a", 0), NOW).await.unwrap();
    let changes = InstanceChanges::default();
    let refused = store
        .advance("i1", first.epoch, &starting("p1"), changes, NOW)
        .await;
    assert!(matches!(refused, Err(StoreError::StartInProgress)));
}

#[tokio::test]
async fn a_forgotten_instance_is_no_more() {
    let store = store_with(&["a"]).await;
    let row = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let row = advance(&store, &row, InstanceState::Gone).await;
    assert!(store.forget_instance("i1", row.epoch).await.unwrap());
    assert!(!store.forget_instance("i1", row.epoch).await.unwrap());
    assert_eq!(store.instance("i1").await.unwrap(), None);
}

fn limited(usd_per_hour: i64) -> Allowance {
    Allowance {
        unpaid: Vec::new(),
        ceilings: Ceilings {
            usd_per_hour: Some(NanoUsd(usd_per_hour)),
            ..Ceilings::default()
        },
        ..Allowance::default()
    }
}

fn priced(id: &str, deployment: &str, usd_per_hour: i64) -> NewInstance {
    NewInstance {
        usd_per_hour: Some(NanoUsd(usd_per_hour)),
        ..instance(id, deployment, 0)
    }
}

#[tokio::test]
async fn intents_at_once_never_exceed_a_ceiling_together() {
    let folder = Folder::new();
    let store = folder.open().await;
    let names: Vec<String> = (0..50).map(|i| format!("d{i}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    with_deployments(&store, &all).await;
    let mut tries = tokio::task::JoinSet::new();
    for name in names {
        let store = store.clone();
        tries.spawn(async move {
            let new = priced(&format!("i-{name}"), &name, 7);
            store.intend_within(&limited(70), &new, NOW).await.is_ok()
        });
    }
    let written = tries.join_all().await.into_iter().filter(|ok| *ok).count();
    assert_eq!(written, 10);
}

#[tokio::test]
async fn a_pod_counts_until_its_absence_is_confirmed() {
    let store = store_with(&["a", "b"]).await;
    let row = store
        .intend_within(&limited(10), &priced("i1", "a", 7), NOW)
        .await
        .unwrap();
    let second = priced("i2", "b", 7);
    let refused = store.intend_within(&limited(10), &second, NOW).await;
    assert!(matches!(refused, Err(StoreError::OverBudget(_))));
    let row = advance(&store, &row, InstanceState::Stopping { provider_id: None }).await;
    let refused = store.intend_within(&limited(10), &second, NOW).await;
    assert!(matches!(refused, Err(StoreError::OverBudget(_))));
    store.forget_instance(&row.id, row.epoch).await.unwrap();
    let there = store.intend_within(&limited(10), &second, NOW).await;
    assert!(there.is_ok());
}

/// As an earlier version wrote them down.
#[tokio::test]
async fn an_absurd_price_that_is_written_down_is_read_as_unknown() {
    let store = store_with(&["a", "b"]).await;
    for name in ["a", "b"] {
        let new = priced(&format!("i-{name}"), name, i64::MAX);
        let row = store.intend(&new, NOW).await.unwrap();
        assert_eq!(row.usd_per_hour, None);
    }
    let third = priced("i3", "a", 7);
    let refused = store.intend_within(&limited(70), &third, NOW).await;
    let unpriced = StoreError::OverBudget(OverBudget::Unpriced);
    assert_eq!(refused.unwrap_err().to_string(), unpriced.to_string());
}

/// It is no step of its life: whoever holds its epoch goes on with it.
#[tokio::test]
async fn another_text_for_the_same_fingerprint_leaves_the_epoch() {
    let store = store_with(&["a"]).await;
    let row = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    store.set_fingerprint("i1", "f2").await.unwrap();
    let renewed = store.instance("i1").await.unwrap().unwrap();
    assert_eq!(
        (renewed.fingerprint.as_str(), renewed.epoch),
        ("f2", row.epoch)
    );
    advance(&store, &row, starting("p1")).await;
}

/// From its intent on, then as the ledger says, until its absence is confirmed.
#[tokio::test]
async fn it_is_known_until_when_an_instance_is_charged() {
    let store = store_with(&["a"]).await;
    let row = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    let charged = |until, ends_by| Charged {
        instance: "i1".into(),
        until,
        ends_by,
    };
    assert_eq!(store.charged().await.unwrap(), [charged(NOW, None)]);
    let later = charged(NOW + 7, Some(NOW + 9));
    let postings = Postings {
        charged: vec![charged(NOW + 5, None), later.clone()],
        ..Postings::default()
    };
    store.post(&postings, 0).await.unwrap();
    assert_eq!(store.charged().await.unwrap(), [later]);
    advance(&store, &row, InstanceState::Gone).await;
    assert_eq!(store.charged().await.unwrap(), []);
}
