use thermocline_policy::Tier;
use thermocline_store::{DecisionRow, NewDecision, Store, StoreError};

use crate::support::{NOW, in_memory, with_deployments};

fn decision(deployment: &str, inputs: &str) -> NewDecision {
    NewDecision {
        deployment: deployment.into(),
        at: NOW,
        from: Some(Tier::Serverless),
        to: Tier::Pod,
        reason: "promote".into(),
        refused: false,
        inputs: inputs.into(),
    }
}

async fn ids(store: &Store, name: &str, before: Option<i64>, limit: u32) -> Vec<i64> {
    let rows = store.decisions(name, before, limit).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn a_decision_reads_back() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let new = NewDecision {
        from: None,
        refused: true,
        ..decision("a", "{7}")
    };
    let id = store.append_decision(&new).await.unwrap();
    let expected = DecisionRow {
        id,
        deployment: "a".into(),
        at: NOW,
        from: None,
        to: Tier::Pod,
        reason: "promote".into(),
        refused: true,
        inputs: "{7}".into(),
    };
    assert_eq!(store.decision(id).await.unwrap(), Some(expected));
    assert_eq!(store.decision(id + 1).await.unwrap(), None);
}

#[tokio::test]
async fn pages_go_from_the_newest_back() {
    let store = in_memory().await;
    with_deployments(&store, &["a", "b"]).await;
    for name in ["a", "b", "a", "a", "b", "a"] {
        store.append_decision(&decision(name, "{}")).await.unwrap();
    }
    assert_eq!(ids(&store, "a", None, 2).await, [6, 4]);
    assert_eq!(ids(&store, "a", Some(4), 2).await, [3, 1]);
    assert_eq!(ids(&store, "a", Some(1), 2).await, []);
}

#[tokio::test]
async fn the_newest_thousand_of_each_deployment_are_kept() {
    let store = in_memory().await;
    with_deployments(&store, &["a", "b"]).await;
    store.append_decision(&decision("b", "{}")).await.unwrap();
    for _ in 0..1003 {
        store.append_decision(&decision("a", "{}")).await.unwrap();
    }
    let kept = ids(&store, "a", None, 5000).await;
    assert_eq!((kept.len(), kept[0], kept[999]), (1000, 1004, 5));
    assert_eq!(ids(&store, "b", None, 10).await, [1]);
}

#[tokio::test]
async fn decisions_go_with_their_deployment() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let id = store.append_decision(&decision("a", "{}")).await.unwrap();
    store.set_deleting("a", NOW).await.unwrap();
    store.forget_deployment("a").await.unwrap();
    assert_eq!(store.decision(id).await.unwrap(), None);
    let late = store.append_decision(&decision("a", "{}")).await;
    assert!(matches!(late, Err(StoreError::NotFound(_))));
}

#[tokio::test]
async fn those_of_all_deployments_come_in_one_order() {
    let store = in_memory().await;
    with_deployments(&store, &["a", "b"]).await;
    let mut expected = Vec::new();
    for name in ["a", "b", "a"] {
        let id = store.append_decision(&decision(name, "{}")).await.unwrap();
        expected.insert(0, id);
    }
    let all = store.all_decisions(None, 9).await.unwrap();
    assert_eq!(all.iter().map(|row| row.id).collect::<Vec<_>>(), expected);
    let older = store.all_decisions(Some(expected[0]), 1).await.unwrap();
    assert_eq!(older[0].id, expected[1]);
}
