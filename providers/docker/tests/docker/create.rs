use futures_util::future::join_all;
use thermocline_provider::{Provider, ProviderErrorKind, ProviderState};

use crate::support::{ask, key, on_docker};

#[tokio::test]
async fn creating_a_key_again_returns_the_container_that_is_there() {
    on_docker(async |ground| {
        let (key, request) = (key(), ground.request(&[]));
        let first = ground.provider.create(&key, &request).await.unwrap();
        let again = ground.provider.create(&key, &request).await.unwrap();
        assert_eq!(first.state, ProviderState::Ready);
        assert_eq!(first, again);
        assert_eq!(ground.containers().await, [first.id]);
    })
    .await;
}

#[tokio::test]
async fn ten_creates_of_one_key_at_once_make_one_container() {
    on_docker(async |ground| {
        let (key, request) = (key(), ground.request(&[]));
        let creates = (0..10).map(|_| ground.provider.create(&key, &request));
        let made = join_all(creates).await;
        let only = ground.containers().await;
        assert_eq!(only.len(), 1);
        for instance in made {
            assert_eq!(instance.unwrap().id, only[0]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_created_container_serves() {
    on_docker(async |ground| {
        let request = ground.request(&[("READY_DELAY", "0s")]);
        let made = ground.provider.create(&key(), &request).await.unwrap();
        let answer = ask(&made, "/hello").await;
        assert!(answer.contains(&made.id[..12]), "{answer}");
        assert!(ask(&made, "/ready").await.starts_with("HTTP/1.1 200"));
    })
    .await;
}

#[tokio::test]
async fn a_process_that_ends_says_with_which_code() {
    on_docker(async |ground| {
        let request = ground.request(&[("EXIT_AFTER", "0ms"), ("EXIT_CODE", "3")]);
        let made = ground.provider.create(&key(), &request).await.unwrap();
        let failed = |seen: &Option<_>| is(seen, ProviderState::Failed);
        let ended = ground.until(&made.id, failed).await.unwrap();
        assert_eq!(ended.detail, "exited with code 3");
        assert_eq!(ended.address, None);
    })
    .await;
}

/// Case B40: an exited left-over of ours stands in nobody's way.
#[tokio::test]
async fn b40_a_leftover_is_seen_bypassed_and_deleted() {
    on_docker(async |ground| {
        let (old, request) = (key(), ground.request(&[("EXIT_AFTER", "0ms")]));
        let made = ground.provider.create(&old, &request).await.unwrap();
        let failed = |seen: &Option<_>| is(seen, ProviderState::Failed);
        let ended = ground.until(&made.id, failed).await.unwrap();
        let same = ground.provider.create(&old, &request).await.unwrap();
        assert_eq!(same, ended);

        let next = ground.provider.create(&key(), &ground.request(&[])).await;
        assert_eq!(next.unwrap().state, ProviderState::Ready);
        ground.provider.delete(&made.id).await.unwrap();
        assert_eq!(ground.until(&made.id, Option::is_none).await, None);
    })
    .await;
}

#[tokio::test]
async fn a_command_that_the_image_lacks_is_named_as_the_reason() {
    on_docker(async |ground| {
        let mut request = ground.request(&[]);
        request.command = vec!["no-such-program".into()];
        let made = ground.provider.create(&key(), &request).await.unwrap();
        let failed = |seen: &Option<_>| is(seen, ProviderState::Failed);
        let ended = ground.until(&made.id, failed).await.unwrap();
        assert!(ended.detail.contains("was not found"), "{}", ended.detail);
    })
    .await;
}

#[tokio::test]
async fn an_image_that_cannot_be_had_is_for_a_person() {
    on_docker(async |ground| {
        let mut request = ground.request(&[]);
        request.image = "registry.invalid/none:1".into();
        let error = ground.provider.create(&key(), &request).await.unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::Invalid);
        assert!(!error.detail.contains("registry.invalid"), "{error}");
        assert!(ground.containers().await.is_empty());
    })
    .await;
}

fn is(seen: &Option<thermocline_provider::ProviderInstance>, state: ProviderState) -> bool {
    seen.as_ref()
        .is_some_and(|instance| instance.state == state)
}
