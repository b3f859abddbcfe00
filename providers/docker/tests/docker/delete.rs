use std::time::Duration;

use bollard::errors::Error;
use futures_util::{StreamExt, TryStreamExt};
use thermocline_provider::{Deletion, Provider, ProviderState};

use crate::support::{Ground, ask, endpoint, key, limits, on_docker, provider};

/// Case B40: the old container ignores SIGTERM for 8 s. It stands in nobody's
/// way, and its own key says that it is on its way down.
#[tokio::test]
async fn b40_a_successor_does_not_wait_for_a_stubborn_predecessor() {
    on_docker(async |ground| {
        let (old, stubborn) = (key(), ground.request(&[("IGNORE_TERM", "8s")]));
        let first = ground.provider.create(&old, &stubborn).await.unwrap();
        ask(&first, "/ready").await;
        for _ in 0..2 {
            let deletion = ground.provider.delete(&first.id).await.unwrap();
            assert_eq!(deletion, Deletion::Accepted);
        }
        let seen = ground.provider.get(&first.id).await.unwrap().unwrap();
        assert_eq!((seen.state, seen.address), (ProviderState::Stopping, None));
        let same = ground.provider.create(&old, &stubborn).await.unwrap();
        assert_eq!(same.state, ProviderState::Stopping);

        let second = ground.provider.create(&key(), &ground.request(&[])).await;
        let second = second.unwrap();
        assert!(ask(&second, "/").await.starts_with("HTTP/1.1 200"));
        assert!(
            ground.is_running(&first.id).await,
            "it was to ignore SIGTERM"
        );
        assert_eq!(ground.until(&first.id, Option::is_none).await, None);
        assert_eq!(ground.containers().await, [second.id]);
        let deletion = ground.provider.delete(&first.id).await.unwrap();
        assert_eq!(deletion, Deletion::Unknown);
    })
    .await;
}

#[tokio::test]
async fn a_container_gets_sigterm_then_its_grace_then_sigkill() {
    const TERM: i64 = 143;
    const KILL: i64 = 137;
    on_docker(async |ground| {
        let long = Duration::from_secs(30);
        assert_eq!(exit_code(ground, None, long).await, TERM);
        assert_eq!(exit_code(ground, Some("200ms"), long).await, 0);
        let short = Duration::from_secs(1);
        assert_eq!(exit_code(ground, Some("60s"), short).await, KILL);
    })
    .await;
}

/// How a container that ignores SIGTERM for `patience` ends under a delete.
async fn exit_code(ground: &Ground, patience: Option<&str>, grace: Duration) -> i64 {
    let env: Vec<_> = patience.map(|p| ("IGNORE_TERM", p)).into_iter().collect();
    let provider = provider(&endpoint(), limits(grace));
    let made = provider
        .create(&key(), &ground.request(&env))
        .await
        .unwrap();
    ask(&made, "/ready").await;
    let mut ended = ground.docker.wait_container(&made.id, None).boxed();
    let (code, deletion) = tokio::join!(ended.try_next(), provider.delete(&made.id));
    assert_eq!(deletion, Ok(Deletion::Accepted));
    match code {
        Ok(code) => code.expect("no exit code").status_code,
        Err(Error::DockerContainerWaitError { code, .. }) => code,
        Err(error) => panic!("{error}"),
    }
}
