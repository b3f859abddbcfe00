//! Nothing is made twice, lost, or taken from a stranger, whatever goes wrong.

use std::sync::Arc;
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_fake_vast::{BodyFault, Faults, ListFault, Settings as FakeSettings};
use thermocline_provider::{Deletion, Provider, ProviderErrorKind as Kind, ProviderState};
use thermocline_vast::{Settings, Spacing};
use tokio::task::JoinHandle;

use crate::scene::{Scene, provider, request, still};

#[tokio::test]
async fn f1_a_rate_limit_is_told_with_the_delay_that_it_names_or_means() {
    let scene = Scene::new().await;
    // A list has a threshold of 1 s, and three of them are waited.
    for (retry_after, expected) in [(Some(7), 7), (None, 3)] {
        scene.faults(Faults {
            rate_limited: 1,
            retry_after,
            ..Faults::default()
        });
        let anew = scene.restarted();
        let error = anew.list("owner", None).await.unwrap_err();
        let delay = Duration::from_secs(expected);
        assert_eq!(error.kind, Kind::RateLimited(Some(delay)));
    }
}

/// A limit told in words that are no JSON, a page for people, a cut and an empty
/// body: each is told as what it is, the next call waits as long as it should,
/// and what runs is neither missed nor made again.
#[tokio::test]
async fn b39_a_rate_limit_is_no_parse_error() {
    let time = still();
    let scene = Scene::on(time.clock()).await;
    let made = scene.create().await;
    scene.faults(Faults {
        rate_limited: 1,
        retry_after: Some(7),
        ..Faults::default()
    });
    let limited = scene.provider.get(&made.id).await.unwrap_err();
    assert_eq!(
        limited.kind,
        Kind::RateLimited(Some(Duration::from_secs(7)))
    );
    let before = scene.fake.calls().len();
    let early = scene.provider.get(&made.id);
    tokio::pin!(early);
    let answered = tokio::time::timeout(Duration::from_millis(200), &mut early).await;
    assert!(answered.is_err(), "it waits");
    assert_eq!(scene.fake.calls().len(), before, "nothing was asked");
    time.advance(Duration::from_secs(7));
    assert!(early.await.unwrap().is_some());
    for body in [BodyFault::Html, BodyFault::Malformed, BodyFault::Empty] {
        scene.faults(Faults {
            body: Some(body),
            ..Faults::default()
        });
        time.advance(Duration::from_secs(10));
        let error = scene.provider.get(&made.id).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable, "{body:?}");
        assert!(!error.detail.contains('<'), "{error}");
        time.advance(Duration::from_secs(10));
        let again = scene.provider.create("key", &request()).await;
        assert_eq!(again.unwrap_err().kind, Kind::Unavailable, "{body:?}");
    }
    scene.faults(Faults::default());
    time.advance(Duration::from_secs(10));
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    assert_eq!(scene.made(), 1);
}

/// Five creates at once, with what the service asks for between two calls: every
/// call waits for its turn, and none is ever refused.
#[tokio::test]
async fn f1_calls_are_spaced_as_the_service_wants_them() {
    let time = still();
    let fake = FakeSettings {
        spaced: true,
        ..FakeSettings::quick()
    };
    let scene = Scene::with(time.clock(), fake, Settings::default()).await;
    let paced = Arc::new(provider(
        &scene.fake,
        &time.clock(),
        Spacing::default(),
        Settings::default(),
    ));
    let creates = (0..5).map(|n| {
        let paced = paced.clone();
        tokio::spawn(async move { paced.create(&format!("key-{n}"), &request()).await })
    });
    let creates: Vec<_> = creates.collect();
    let mut looks = tokio::time::interval(Duration::from_millis(5));
    while !creates.iter().all(JoinHandle::is_finished) {
        looks.tick().await;
        time.advance(Duration::from_millis(250));
    }
    for create in creates {
        create.await.unwrap().unwrap();
    }
    assert_eq!(scene.live().len(), 5);
}

#[tokio::test]
async fn f5_f6_f7_what_is_young_is_not_missed() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        list_lag_s: 60.0,
        get_lag_s: 60.0,
        delete_lag_s: 60.0,
        ..Faults::default()
    });
    let made = scene.create().await;
    let get = scene.provider.get(&made.id).await.unwrap_err();
    let delete = scene.provider.delete(&made.id).await.unwrap_err();
    let again = scene.provider.create("key", &request()).await.unwrap_err();
    for error in [get, delete, again] {
        assert_eq!(error.kind, Kind::Unavailable);
    }
    assert!(!scene.provider.list("owner", None).await.unwrap().complete);
    assert_eq!((scene.live().len(), scene.made()), (1, 1));
}

#[tokio::test]
async fn f8_a_delete_that_was_not_obeyed_leaves_it_in_sight() {
    let scene = Scene::new().await;
    let made = scene.create().await;
    scene.faults(Faults {
        ignored_deletes: 1,
        ..Faults::default()
    });
    for there in [true, false] {
        let deletion = scene.provider.delete(&made.id).await;
        assert_eq!(deletion, Ok(Deletion::Accepted));
        let seen = scene.provider.get(&made.id).await.unwrap();
        assert_eq!(seen.is_some(), there);
    }
    assert_eq!(scene.provider.delete(&made.id).await, Ok(Deletion::Unknown));
}

#[tokio::test]
async fn f9_an_instance_that_never_comes_up_stays_starting() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        never_ready: true,
        ..Faults::default()
    });
    let made = scene.create().await;
    let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!((seen.state, seen.address), (ProviderState::Starting, None));
}

#[tokio::test]
async fn f11_a_list_that_cannot_be_trusted_is_no_list() {
    let fake = FakeSettings {
        page: 1,
        ..FakeSettings::quick()
    };
    let scene = Scene::with(Clock::system(), fake, Settings::default()).await;
    scene.create().await;
    let faults = [ListFault::Error, ListFault::Circular, ListFault::Truncated];
    for list in faults {
        scene.faults(Faults {
            list: Some(list),
            ..Faults::default()
        });
        let error = scene.provider.list("owner", None).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable, "{list:?}");
    }
    for list in [ListFault::Empty, ListFault::Bare] {
        scene.faults(Faults {
            list: Some(list),
            ..Faults::default()
        });
        let page = scene.provider.list("owner", None).await.unwrap();
        assert!(!page.complete, "{list:?}");
        let again = scene.provider.create("key", &request()).await;
        assert_eq!(again.unwrap_err().kind, Kind::Unavailable, "{list:?}");
    }
    assert_eq!(scene.made(), 1);
}

#[tokio::test]
async fn f12_what_vanished_is_absent_once_it_is_old_enough_to_be_missed() {
    let time = still();
    let scene = Scene::on(time.clock()).await;
    let made = scene.create().await;
    scene.fake.vanish(made.id.parse().unwrap());
    assert!(scene.provider.get(&made.id).await.is_err());
    time.advance(Duration::from_secs(31));
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    let page = scene.provider.list("owner", None).await.unwrap();
    assert!(page.complete && page.instances.is_empty());
}

#[tokio::test]
async fn f12_what_was_shown_and_vanished_is_absent_however_young() {
    let scene = Scene::new().await;
    let made = scene.create().await;
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    scene.fake.vanish(made.id.parse().unwrap());
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    assert_eq!(scene.provider.delete(&made.id).await, Ok(Deletion::Unknown));
}

/// F7: what a look shows, a deletion may not know yet.
#[tokio::test]
async fn f7_what_was_shown_is_not_taken_for_gone_by_a_deletion_that_lags() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        delete_lag_s: 60.0,
        ..Faults::default()
    });
    let made = scene.create().await;
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    let error = scene.provider.delete(&made.id).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
}

#[tokio::test]
async fn f13_a_strangers_instance_of_our_label_is_left_alone() {
    let scene = Scene::new().await;
    let theirs = scene.fake.stranger("tc-owner-key").to_string();
    let made = scene.create().await;
    assert_ne!(made.id, theirs);
    let page = scene.provider.list("owner", None).await.unwrap();
    assert_eq!(page.instances.len(), 1);
    assert_eq!(scene.provider.get(&theirs).await, Ok(None));
    assert_eq!(scene.provider.delete(&theirs).await, Ok(Deletion::Unknown));
    assert_eq!(scene.live().len(), 2);
}

#[tokio::test]
async fn f14_a_state_that_nobody_knows_is_waited_for() {
    let scene = Scene::new().await;
    let made = scene.create().await;
    scene.ready(&made.id).await;
    let expected = [
        ("HIBERNATING", ProviderState::Starting),
        ("rebooting", ProviderState::Starting),
        ("offline", ProviderState::Failed),
        ("running", ProviderState::Ready),
    ];
    for (word, state) in expected {
        scene.faults(Faults {
            states: vec![word.into()],
            ..Faults::default()
        });
        let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
        assert_eq!(seen.state, state, "{word}");
    }
}

#[tokio::test]
async fn f15_a_body_that_cannot_be_read_says_nothing_and_is_not_repeated() {
    let scene = Scene::new().await;
    let made = scene.create().await;
    let odd = [
        BodyFault::Malformed,
        BodyFault::WrongType,
        BodyFault::Huge,
        BodyFault::Html,
    ];
    for body in odd {
        scene.faults(Faults {
            body: Some(body),
            ..Faults::default()
        });
        let get = scene.provider.get(&made.id).await.unwrap_err();
        let list = scene.provider.list("owner", None).await.unwrap_err();
        let again = scene.provider.create("key", &request()).await.unwrap_err();
        for error in [get, list, again] {
            assert_eq!(error.kind, Kind::Unavailable, "{body:?}");
            assert!(!error.detail.contains("sentinel"), "{error}");
        }
    }
    assert_eq!(scene.made(), 1);
}

#[tokio::test]
async fn f16_a_key_that_is_revoked_needs_a_person() {
    let scene = Scene::new().await;
    scene.faults(Faults {
        revoked: true,
        ..Faults::default()
    });
    let list = scene.provider.list("owner", None).await.unwrap_err();
    let create = scene.provider.create("key", &request()).await.unwrap_err();
    assert_eq!((list.kind, create.kind), (Kind::Auth, Kind::Auth));
}

#[tokio::test]
async fn f17_a_place_that_was_given_to_another_is_not_taken_from_it() {
    let time = still();
    let scene = Scene::on(time.clock()).await;
    let made = scene.create().await;
    scene.fake.vanish(made.id.parse().unwrap());
    scene.faults(Faults {
        reused_places: true,
        ..Faults::default()
    });
    assert_eq!(scene.fake.stranger("theirs").to_string(), made.id);
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    assert_eq!(scene.provider.delete(&made.id).await, Ok(Deletion::Unknown));
    assert_eq!(scene.live().len(), 1);
}

#[tokio::test]
async fn f18_a_service_whose_clock_is_wrong_changes_nothing() {
    let time = still();
    let scene = Scene::on(time.clock()).await;
    for (key, skew_s) in [("ahead", 600), ("behind", -600)] {
        scene.faults(Faults {
            skew_s,
            ..Faults::default()
        });
        let made = scene.provider.create(key, &request()).await.unwrap();
        assert_eq!(
            scene.provider.create(key, &request()).await.unwrap().id,
            made.id
        );
        time.advance(Duration::from_secs(31));
        assert_eq!(
            scene.provider.delete(&made.id).await,
            Ok(Deletion::Accepted)
        );
        assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    }
    assert_eq!((scene.live().len(), scene.made()), (0, 2));
}

#[tokio::test]
async fn an_instance_that_ended_by_itself_has_failed() {
    let scene = Scene::new().await;
    let made = scene.create().await;
    scene.ready(&made.id).await;
    scene.fake.exit(made.id.parse().unwrap());
    let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!(
        (seen.state, seen.detail.as_str()),
        (ProviderState::Failed, "the instance is exited")
    );
}

/// Many looks at once cost one list.
#[tokio::test]
async fn looks_at_many_instances_share_a_list() {
    let scene = Scene::new().await;
    let made = scene.create().await;
    scene.ready(&made.id).await;
    let before = scene.fake.calls().len();
    let mut all = tokio::task::JoinSet::new();
    let provider = Arc::new(scene.restarted());
    for _ in 0..20 {
        let (provider, id) = (provider.clone(), made.id.clone());
        all.spawn(async move { provider.get(&id).await });
    }
    while let Some(seen) = all.join_next().await {
        assert!(seen.unwrap().unwrap().is_some());
    }
    let calls = scene.fake.calls().len() - before;
    assert!(calls <= 2, "{calls} calls for 20 looks");
}
