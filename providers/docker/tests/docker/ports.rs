//! Case B41: what a taken port leaves behind.

use std::collections::HashSet;
use std::net::TcpListener;

use futures_util::future::join_all;
use thermocline_provider::{Provider, ProviderErrorKind, ProviderState};

use crate::support::{ask, key, on_docker};

#[tokio::test]
async fn b41_a_port_taken_by_a_process_leaves_no_husk_and_the_same_key_succeeds_later() {
    on_docker(async |ground| {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let (key, mut request) = (key(), ground.request(&[]));
        request.host_port = Some(port);

        for _ in 0..2 {
            let error = ground.provider.create(&key, &request).await.unwrap_err();
            assert_eq!(error.kind, ProviderErrorKind::PortConflict, "{error}");
            assert!(ground.containers().await.is_empty());
        }
        drop(taken);
        let made = ground.provider.create(&key, &request).await.unwrap();
        assert_eq!(made.state, ProviderState::Ready);
        let url = made.address.unwrap().url;
        assert_eq!(url, format!("http://127.0.0.1:{port}"));
    })
    .await;
}

#[tokio::test]
async fn b41_a_port_taken_by_a_container_is_a_port_conflict_too() {
    on_docker(async |ground| {
        let first = ground.provider.create(&key(), &ground.request(&[])).await;
        let url = first.unwrap().address.unwrap().url;
        let mut request = ground.request(&[]);
        request.host_port = url.rsplit(':').next().unwrap().parse().ok();
        let error = ground.provider.create(&key(), &request).await.unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::PortConflict, "{error}");
        assert_eq!(ground.containers().await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn b41_automatic_ports_never_collide() {
    on_docker(async |ground| {
        let (keys, request) = ([key(), key(), key(), key()], ground.request(&[]));
        let creates = keys.iter().map(|key| ground.provider.create(key, &request));
        let made: Vec<_> = join_all(creates).await.into_iter().flatten().collect();
        let urls: HashSet<_> = made
            .iter()
            .map(|i| &i.address.as_ref().unwrap().url)
            .collect();
        assert_eq!(urls.len(), keys.len());
        for instance in &made {
            let answer = ask(instance, "/who").await;
            assert!(answer.contains(&instance.id[..12]), "{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_start_that_was_cut_off_is_finished() {
    on_docker(async |ground| {
        let key = key();
        let unstarted = ground.unstarted(&key, 0).await;
        let made = ground.provider.create(&key, &ground.request(&[])).await;
        assert_eq!(made.unwrap().id, unstarted);
    })
    .await;
}

#[tokio::test]
async fn b41_a_husk_of_ours_is_replaced() {
    on_docker(async |ground| {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let key = key();
        let husk = ground.unstarted(&key, port).await;
        let start = ground.docker.start_container(&husk, None).await;
        assert!(start.is_err());

        let made = ground.provider.create(&key, &ground.request(&[])).await;
        let made = made.unwrap();
        assert_eq!(made.state, ProviderState::Ready);
        assert_eq!(ground.containers().await, [made.id]);
    })
    .await;
}
