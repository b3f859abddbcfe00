use thermocline_policy::{InstanceState, Tier};
use thermocline_store::{DeploymentRow, InstanceChanges, NewEvent, StoreError};

use crate::support::{NOW, deployment, in_memory, instance, with_deployments};

#[tokio::test]
async fn a_new_deployment_reads_back() {
    let store = in_memory().await;
    let made = store
        .create_deployments(&[deployment("a", "{1}")], NOW)
        .await
        .unwrap();
    let expected = DeploymentRow {
        name: "a".into(),
        generation: 1,
        spec: "{1}".into(),
        stopped: false,
        deleting: false,
        tier: None,
        created_at: NOW,
        updated_at: NOW,
    };
    assert_eq!(made, std::slice::from_ref(&expected));
    assert_eq!(store.deployment("a").await.unwrap(), Some(expected));
    assert_eq!(store.deployment("b").await.unwrap(), None);
}

#[tokio::test]
async fn deployments_are_listed_by_name() {
    let store = in_memory().await;
    with_deployments(&store, &["b", "c", "a"]).await;
    let names: Vec<_> = store
        .deployments()
        .await
        .unwrap()
        .into_iter()
        .map(|d| d.name)
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test]
async fn several_are_created_all_or_none() {
    let store = in_memory().await;
    with_deployments(&store, &["b"]).await;
    let both = [deployment("a", "{}"), deployment("b", "{}")];
    let error = store.create_deployments(&both, NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::Exists(name) if name == "b"));
    assert_eq!(store.deployment("a").await.unwrap(), None);
}

#[tokio::test]
async fn a_name_twice_in_one_call_is_refused() {
    let store = in_memory().await;
    let twice = [deployment("a", "{1}"), deployment("a", "{2}")];
    let error = store.create_deployments(&twice, NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::Exists(_)));
    assert_eq!(store.deployments().await.unwrap(), []);
}

#[tokio::test]
async fn put_creates_replaces_and_lets_equal_ones_be() {
    let store = in_memory().await;
    let first = [deployment("a", "{1}"), deployment("b", "{1}")];
    let put = store.put_deployments(&first, NOW).await.unwrap();
    assert!(
        put.iter()
            .all(|(row, created)| *created && row.generation == 1)
    );

    let second = [
        deployment("b", "{2}"),
        deployment("a", "{1}"),
        deployment("c", "{}"),
    ];
    let put = store.put_deployments(&second, NOW + 1).await.unwrap();
    let seen: Vec<_> = put
        .iter()
        .map(|(row, created)| (&*row.name, row.generation, row.updated_at - NOW, *created))
        .collect();
    assert_eq!(
        seen,
        [("b", 2, 1, false), ("a", 1, 0, false), ("c", 1, 1, true)]
    );
    assert_eq!(put[0].0.created_at, NOW);
    assert_eq!(store.deployment("b").await.unwrap().unwrap(), put[0].0);
}

#[tokio::test]
async fn put_is_all_or_none() {
    let store = in_memory().await;
    with_deployments(&store, &["a", "b"]).await;
    store.set_deleting("b", NOW).await.unwrap();
    let all = [
        deployment("a", "{2}"),
        deployment("n", "{}"),
        deployment("b", "{2}"),
    ];
    let error = store.put_deployments(&all, NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::Deleting(name) if name == "b"));
    assert_eq!(store.deployment("a").await.unwrap().unwrap().generation, 1);
    assert_eq!(store.deployment("n").await.unwrap(), None);
}

#[tokio::test]
async fn a_replacement_keeps_sleep_and_tier() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    store.set_stopped("a", true, NOW).await.unwrap();
    store.set_tier("a", Some(Tier::Pod)).await.unwrap();
    store
        .put_deployments(&[deployment("a", "{2}")], NOW)
        .await
        .unwrap();
    let row = store.deployment("a").await.unwrap().unwrap();
    assert_eq!(
        (row.stopped, row.tier, row.generation),
        (true, Some(Tier::Pod), 2)
    );
}

#[tokio::test]
async fn an_update_of_an_older_generation_is_refused() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let row = store
        .update_spec("a", Some(1), "{2}", NOW + 1)
        .await
        .unwrap();
    assert_eq!(
        (row.generation, &*row.spec, row.updated_at),
        (2, "{2}", NOW + 1)
    );
    let error = store
        .update_spec("a", Some(1), "{3}", NOW)
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        StoreError::GenerationChanged { current: 2 }
    ));
    assert_eq!(
        store
            .update_spec("a", None, "{3}", NOW)
            .await
            .unwrap()
            .generation,
        3
    );
    assert_eq!(
        store
            .update_spec("a", Some(3), "{3}", NOW)
            .await
            .unwrap()
            .generation,
        3
    );
    let error = store.update_spec("x", None, "{}", NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)));
}

#[tokio::test]
async fn sleep_is_set_and_ended() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    assert!(store.set_stopped("a", true, NOW).await.unwrap().stopped);
    assert!(!store.set_stopped("a", false, NOW).await.unwrap().stopped);
    let error = store.set_stopped("x", true, NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)));
}

#[tokio::test]
async fn deleting_is_for_good_and_refuses_changes() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let row = store.set_deleting("a", NOW + 1).await.unwrap();
    assert!(row.deleting);
    assert_eq!(store.set_deleting("a", NOW + 2).await.unwrap(), row);
    let refused = [
        store.update_spec("a", None, "{2}", NOW).await,
        store.set_stopped("a", true, NOW).await,
    ];
    assert!(
        refused
            .iter()
            .all(|r| matches!(r, Err(StoreError::Deleting(_))))
    );
    let error = store.set_deleting("x", NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)));
}

#[tokio::test]
async fn every_tier_reads_back() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    for tier in Tier::ALL.map(Some).into_iter().chain([None]) {
        store.set_tier("a", tier).await.unwrap();
        assert_eq!(store.deployment("a").await.unwrap().unwrap().tier, tier);
    }
    let error = store.set_tier("x", None).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)));
}

#[tokio::test]
async fn a_deployment_is_not_forgotten_before_its_instances() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let row = store.intend(&instance("i1", "a", 0), NOW).await.unwrap();
    store.set_deleting("a", NOW).await.unwrap();
    let error = store.forget_deployment("a").await.unwrap_err();
    assert!(matches!(error, StoreError::InstancesRemain(_)));

    let gone = InstanceState::Gone;
    store
        .advance("i1", row.epoch, &gone, InstanceChanges::default(), NOW)
        .await
        .unwrap();
    store.forget_deployment("a").await.unwrap();
    assert_eq!(store.deployment("a").await.unwrap(), None);
    let error = store.forget_deployment("a").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)));
}

#[tokio::test]
async fn events_outlive_their_deployment() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let event = NewEvent {
        at: NOW,
        kind: "deployment.created".into(),
        deployment: Some("a".into()),
        body: "{}".into(),
    };
    store.append_events(&[event]).await.unwrap();
    let alive = store.forget_deployment("a").await.unwrap_err();
    assert!(
        matches!(alive, StoreError::NotFound(_)),
        "nobody tears it down"
    );
    store.set_deleting("a", NOW).await.unwrap();
    store.forget_deployment("a").await.unwrap();
    assert_eq!(store.events_after(0, 10).await.unwrap().len(), 1);
}
