//! What is not ours is not touched.

use thermocline_provider::{Deletion, Provider, ProviderErrorKind};

use crate::support::{key, on_docker};

/// Case B40: a foreign container has the wanted name.
#[tokio::test]
async fn b40_a_stranger_with_our_name_is_reported_and_left_alone() {
    on_docker(async |ground| {
        let key = key();
        let name = format!("tc-{}-{}", ground.owner, key.to_lowercase());
        let stranger = ground.stranger(&name).await;
        let made = ground.provider.create(&key, &ground.request(&[])).await;
        let untouched = ground.is_running(&stranger).await;
        ground.remove(&stranger).await;

        let error = made.unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::Invalid);
        assert!(error.detail.contains(&name), "{error}");
        assert!(untouched);
    })
    .await;
}

#[tokio::test]
async fn a_container_without_our_label_is_neither_seen_nor_ended() {
    on_docker(async |ground| {
        let name = format!("stranger-of-{}", ground.owner);
        let stranger = ground.stranger(&name).await;
        let seen = ground.provider.get(&stranger).await.unwrap();
        let deletions = [
            ground.provider.delete(&stranger).await,
            ground.provider.delete(&name).await,
        ];
        let untouched = ground.is_running(&stranger).await;
        ground.remove(&stranger).await;

        assert_eq!(seen, None);
        assert_eq!(deletions, [Ok(Deletion::Unknown), Ok(Deletion::Unknown)]);
        assert!(untouched);
    })
    .await;
}

#[tokio::test]
async fn a_list_holds_one_owners_containers_and_all_of_them() {
    on_docker(async |ground| {
        let running = ground.request(&[]);
        let ended = ground.request(&[("EXIT_AFTER", "0ms")]);
        let mut ids = Vec::new();
        for request in [running, ended] {
            ids.push(ground.provider.create(&key(), &request).await.unwrap().id);
        }
        let page = ground.provider.list(&ground.owner, None).await.unwrap();
        let mut listed: Vec<_> = page.instances.into_iter().map(|i| i.id).collect();
        listed.sort();
        ids.sort();
        assert_eq!(listed, ids);
        assert!(page.complete && page.next.is_none());

        let others = ground.provider.list("somebody-else", None).await.unwrap();
        assert!(others.instances.is_empty() && others.complete);
    })
    .await;
}

#[tokio::test]
async fn an_id_that_is_no_id_is_unknown() {
    on_docker(async |ground| {
        for id in ["", "..", "a/b", "json?all=1", "no-such-container"] {
            assert_eq!(ground.provider.get(id).await.unwrap(), None);
            assert_eq!(ground.provider.delete(id).await.unwrap(), Deletion::Unknown);
        }
    })
    .await;
}
