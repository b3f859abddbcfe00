use std::time::{Duration, SystemTime};

use thermocline_clock::ManualClock;
use thermocline_provider::conformance::{self, Setup};
use thermocline_provider::{Deletion, Provider, ProviderErrorKind, ProviderState};

use super::tests::{provider, request};
use super::*;

fn on_paper() -> (ManualClock, FakeProvider) {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let provider = FakeProvider::on_paper(&time.clock());
    (time, provider)
}

#[tokio::test]
async fn it_keeps_every_clause_once_it_is_healed() {
    let provider = provider();
    for kind in FaultKind::ALL {
        provider.switch(kind, 100);
    }
    provider.heal();
    let mut setup = Setup::new(request());
    setup.poll_every = Duration::from_millis(1);
    let report = conformance::run(&provider, &setup).await;
    assert!(report.passed(), "{report}");
    assert!(provider.truth().live.is_empty());
}

#[tokio::test]
async fn errors_come_before_or_after_the_effect() {
    use ProviderErrorKind as E;
    for (kind, made) in [
        (FaultKind::TooOften, 0),
        (FaultKind::ErrorBefore, 0),
        (FaultKind::ErrorAfter, 1),
        (FaultKind::NoCapacity, 0),
        (FaultKind::Revoked, 0),
    ] {
        let (_, provider) = on_paper();
        provider.switch(kind, 100);
        let error = provider.create("k", &request()).await.unwrap_err();
        let expected = match kind {
            FaultKind::NoCapacity => error.kind == E::NoCapacity,
            FaultKind::Revoked => error.kind == E::Auth,
            FaultKind::TooOften => matches!(error.kind, E::RateLimited(_)),
            _ => error.kind == E::Unavailable,
        };
        assert!(expected, "{kind:?}: {error}");
        assert_eq!(provider.truth().live.len(), made, "{kind:?}");
    }
}

#[tokio::test]
async fn silence_lasts_a_minute_and_takes_its_effect() {
    let (time, provider) = on_paper();
    provider.switch(FaultKind::Silence, 100);
    let create = provider.clone();
    let create = tokio::spawn(async move { create.create("k", &request()).await });
    provider.wait_for(|truth| truth.created == 1).await;
    while provider.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    time.advance(Duration::from_secs(60));
    assert!(create.await.unwrap().is_err());
    assert_eq!(provider.waiting(), 0);
}

#[tokio::test]
async fn the_young_are_hidden_until_they_are_older() {
    let (time, provider) = on_paper();
    for kind in [
        FaultKind::UnlistedYoung,
        FaultKind::UnknownYoung,
        FaultKind::UndeletableYoung,
    ] {
        provider.switch(kind, 100);
    }
    let made = provider.create("k", &request()).await.unwrap();
    assert!(
        provider
            .list("us", None)
            .await
            .unwrap()
            .instances
            .is_empty()
    );
    assert_eq!(provider.get(&made.id).await.unwrap(), None);
    assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Unknown);
    time.advance(Duration::from_secs(20));
    assert_eq!(provider.list("us", None).await.unwrap().instances.len(), 1);
    assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Accepted);
}

#[tokio::test]
async fn what_is_deaf_never_ready_or_gone_is_so() {
    let (time, provider) = on_paper();
    provider.switch(FaultKind::NeverReady, 100);
    let made = provider.create("k", &request()).await.unwrap();
    time.advance(Duration::from_secs(3600));
    let seen = provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!(seen.state, ProviderState::Starting);
    provider.switch(FaultKind::DeafDelete, 100);
    assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Accepted);
    assert_eq!(provider.truth().live.len(), 1);
    provider.switch(FaultKind::Vanishes, 100);
    assert!(provider.truth().live.is_empty());
}

#[tokio::test]
async fn a_namesake_is_a_strangers_and_ours_is_not_made() {
    let (_, provider) = on_paper();
    provider.switch(FaultKind::Namesake, 100);
    let theirs = provider.create("k", &request()).await.unwrap();
    assert_eq!(
        (theirs.key.as_str(), theirs.owner.as_str()),
        ("k", "stranger")
    );
    let listed = provider.list("us", None).await.unwrap().instances;
    assert_eq!(listed, [theirs]);
    provider.heal();
    let ours = provider.create("k", &request()).await.unwrap();
    assert_eq!(ours.owner, "us");
}

#[tokio::test]
async fn lists_answers_and_states_are_not_the_truth() {
    for kind in [FaultKind::BadLists, FaultKind::Garbled, FaultKind::Flaps] {
        let (_, provider) = on_paper();
        let made = provider.create("k", &request()).await.unwrap();
        provider.switch(kind, 100);
        let mut wrong = 0;
        for _ in 0..20 {
            let list = provider.list("us", None).await;
            wrong += usize::from(list.is_err() || list.unwrap().instances != [made.clone()]);
        }
        assert!(wrong > 5, "{kind:?} struck {wrong} of 20 lists");
    }
}

#[tokio::test]
async fn an_address_is_given_away_again() {
    let (_, provider) = on_paper();
    provider.switch(FaultKind::ReusedAddress, 100);
    let first = provider.create("k1", &request()).await.unwrap();
    provider.vanish(&first.id).await;
    let second = provider.create("k2", &request()).await.unwrap();
    assert_eq!(first.address, second.address);
    let url = second.address.unwrap().url;
    assert_eq!(provider.answers(&url), Some(200));
    assert_eq!(provider.who_listens(&url).as_deref(), Some("k2"));
}
