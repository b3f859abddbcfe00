//! Nothing is made twice, lost, or taken from a stranger, whatever goes wrong.

use std::time::Duration;

use serde_json::json;
use thermocline_clock::Clock;
use thermocline_fake_runpod::{BodyFault, Faults, ListFault, Settings};
use thermocline_policy::Tier;
use thermocline_provider::{Deletion, Provider, ProviderErrorKind as Kind, ProviderState};

use crate::scene::{LB, Scene, request, still, with};

#[tokio::test]
async fn f1_a_rate_limit_is_told_with_its_delay() {
    let scene = Scene::new(LB).await;
    for (retry_after, expected) in [(Some(7), Some(Duration::from_secs(7))), (None, None)] {
        scene.faults(Faults {
            rate_limited: 1,
            retry_after,
            ..Faults::default()
        });
        let error = scene.provider.list("owner", None).await.unwrap_err();
        assert_eq!(error.kind, Kind::RateLimited(expected));
    }
}

#[tokio::test]
async fn f1_calls_that_are_used_up_are_not_made() {
    let time = still();
    let settings = Settings {
        calls: [4, 1_000, 1_000],
        ..Settings::quick()
    };
    let scene = Scene::with(time.clock(), settings, LB).await;
    for _ in 0..2 {
        scene.provider.list("owner", None).await.unwrap();
    }
    let error = scene.provider.list("owner", None).await.unwrap_err();
    assert_eq!(error.kind, Kind::RateLimited(Some(Duration::from_secs(60))));
    assert_eq!(scene.fake.calls().len(), 4, "the fifth was not made");
    time.advance(Duration::from_secs(60));
    scene.provider.list("owner", None).await.unwrap();
}

#[tokio::test]
async fn f5_f6_f7_what_is_young_is_not_missed() {
    let scene = Scene::new(LB).await;
    let lag = Faults {
        list_lag_s: 60.0,
        get_lag_s: 60.0,
        delete_lag_s: 60.0,
        ..Faults::default()
    };
    scene.faults(lag);
    let made = scene.create(Tier::Pod).await;
    assert_eq!(
        scene.provider.get(&made.id).await.unwrap_err().kind,
        Kind::Unavailable
    );
    assert_eq!(
        scene.provider.delete(&made.id).await.unwrap_err().kind,
        Kind::Unavailable
    );
    assert!(!scene.provider.list("owner", None).await.unwrap().complete);
    let again = scene
        .provider
        .create("key", &request(Tier::Pod))
        .await
        .unwrap_err();
    assert_eq!(again.kind, Kind::Unavailable);
    assert_eq!(scene.live(), (1, 0));
}

#[tokio::test]
async fn f8_a_delete_that_was_not_obeyed_leaves_it_in_sight() {
    let scene = Scene::new(LB).await;
    let made = scene.create(Tier::Serverless).await;
    scene.faults(Faults {
        ignored_deletes: 1,
        ..Faults::default()
    });
    assert_eq!(
        scene.provider.delete(&made.id).await,
        Ok(Deletion::Accepted)
    );
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    assert_eq!(
        scene.provider.delete(&made.id).await,
        Ok(Deletion::Accepted)
    );
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
}

#[tokio::test]
async fn f9_a_pod_that_never_comes_up_stays_starting() {
    let scene = Scene::new(LB).await;
    scene.faults(Faults {
        never_ready: true,
        ..Faults::default()
    });
    let made = scene.create(Tier::Pod).await;
    let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!((seen.state, seen.address), (ProviderState::Starting, None));
}

#[tokio::test]
async fn f11_a_list_that_cannot_be_trusted_is_no_list() {
    let settings = Settings {
        page: Some(1),
        ..Settings::quick()
    };
    let scene = Scene::with(Clock::system(), settings, LB).await;
    scene.create(Tier::Pod).await;
    for list in [ListFault::Error, ListFault::Circular] {
        scene.faults(Faults {
            list: Some(list),
            ..Faults::default()
        });
        let error = scene.provider.list("owner", None).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable, "{list:?}");
    }
    scene.faults(Faults {
        list: Some(ListFault::Empty),
        ..Faults::default()
    });
    let page = scene.provider.list("owner", None).await.unwrap();
    assert!(!page.complete, "what was made a moment ago is missing");
    let again = scene.provider.create("key", &request(Tier::Pod)).await;
    assert_eq!(again.unwrap_err().kind, Kind::Unavailable);
}

#[tokio::test]
async fn f12_what_vanished_is_absent_once_it_is_old_enough_to_be_missed() {
    let time = still();
    let scene = Scene::with(time.clock(), Settings::quick(), LB).await;
    let made = scene.create(Tier::Pod).await;
    scene.fake.vanish(made.id.strip_prefix("pod:").unwrap());
    time.advance(Duration::from_secs(31));
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    let page = scene.provider.list("owner", None).await.unwrap();
    assert!(page.complete && page.instances.is_empty());
}

#[tokio::test]
async fn f12_what_was_shown_and_vanished_is_absent_however_young() {
    let scene = Scene::with(still().clock(), Settings::quick(), LB).await;
    let made = scene.create(Tier::Pod).await;
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    scene.fake.vanish(made.id.strip_prefix("pod:").unwrap());
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    assert_eq!(scene.provider.delete(&made.id).await, Ok(Deletion::Unknown));
}

/// F7: what a look shows, a deletion may not know yet.
#[tokio::test]
async fn f7_what_was_shown_is_not_taken_for_gone_by_a_deletion_that_lags() {
    let scene = Scene::new(LB).await;
    scene.faults(Faults {
        delete_lag_s: 60.0,
        ..Faults::default()
    });
    let made = scene.create(Tier::Pod).await;
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    let error = scene.provider.delete(&made.id).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
}

#[tokio::test]
async fn f13_a_strangers_pod_of_our_name_is_left_alone() {
    let scene = Scene::new(LB).await;
    let theirs = scene.fake.stranger("tc-owner-key");
    let made = scene.create(Tier::Pod).await;
    assert_ne!(made.id, format!("pod:{theirs}"));
    let page = scene.provider.list("owner", None).await.unwrap();
    assert_eq!(page.instances.len(), 1);
    let id = format!("pod:{theirs}");
    assert_eq!(scene.provider.get(&id).await, Ok(None));
    assert_eq!(scene.provider.delete(&id).await, Ok(Deletion::Unknown));
    assert_eq!(scene.live(), (2, 0));
}

#[tokio::test]
async fn f14_a_state_that_nobody_knows_is_waited_for() {
    let scene = Scene::new(LB).await;
    let made = scene.create(Tier::Pod).await;
    scene.ready(&made.id).await;
    scene.faults(Faults {
        states: vec!["HIBERNATING".into()],
        ..Faults::default()
    });
    let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!(seen.state, ProviderState::Starting);
    scene.faults(Faults {
        states: vec!["TERMINATED".into()],
        ..Faults::default()
    });
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
}

#[tokio::test]
async fn f15_a_body_that_cannot_be_read_says_nothing() {
    let scene = Scene::new(LB).await;
    let made = scene.create(Tier::Pod).await;
    for body in [BodyFault::Malformed, BodyFault::WrongType, BodyFault::Huge] {
        scene.faults(Faults {
            body: Some(body),
            ..Faults::default()
        });
        let get = scene.provider.get(&made.id).await.unwrap_err();
        let list = scene.provider.list("owner", None).await.unwrap_err();
        assert_eq!(
            (get.kind, list.kind),
            (Kind::Unavailable, Kind::Unavailable),
            "{body:?}"
        );
    }
}

/// A page for people, a cut and an empty body are told as what they are; the
/// pod that runs is neither missed nor made again.
#[tokio::test]
async fn b39_a_page_for_people_is_no_answer_and_no_parse_error() {
    let scene = Scene::new(LB).await;
    let made = scene.create(Tier::Pod).await;
    for body in [BodyFault::Html, BodyFault::Malformed, BodyFault::Empty] {
        scene.faults(Faults {
            body: Some(body),
            ..Faults::default()
        });
        let get = scene.provider.get(&made.id).await.unwrap_err();
        let create = scene.provider.create("key", &request(Tier::Pod)).await;
        for error in [get, create.unwrap_err()] {
            assert_eq!(error.kind, Kind::Unavailable, "{body:?}");
            assert!(!error.detail.contains('<'), "{error}");
        }
    }
    scene.faults(Faults::default());
    assert!(scene.provider.get(&made.id).await.unwrap().is_some());
    assert_eq!(scene.live(), (1, 0));
}

#[tokio::test]
async fn f16_a_key_that_is_revoked_needs_a_person() {
    let scene = Scene::new(LB).await;
    scene.faults(Faults {
        revoked: true,
        ..Faults::default()
    });
    assert_eq!(
        scene.provider.list("owner", None).await.unwrap_err().kind,
        Kind::Auth
    );
}

#[tokio::test]
async fn f17_a_place_that_was_given_to_another_is_not_taken_from_it() {
    let time = still();
    let scene = Scene::with(time.clock(), Settings::quick(), LB).await;
    let made = scene.create(Tier::Pod).await;
    let place = made.id.strip_prefix("pod:").unwrap();
    scene.fake.vanish(place);
    scene.faults(Faults {
        reused_places: true,
        ..Faults::default()
    });
    assert_eq!(scene.fake.stranger("theirs"), place);
    assert_eq!(scene.provider.get(&made.id).await, Ok(None));
    assert_eq!(scene.provider.delete(&made.id).await, Ok(Deletion::Unknown));
    assert_eq!(scene.live(), (1, 0));
}

#[tokio::test]
async fn f18_a_service_whose_clock_is_wrong_changes_nothing() {
    let time = still();
    let scene = Scene::with(time.clock(), Settings::quick(), LB).await;
    for (key, skew_s) in [("ahead", 600), ("behind", -600)] {
        scene.faults(Faults {
            skew_s,
            ..Faults::default()
        });
        for tier in [Tier::Pod, Tier::Serverless] {
            let made = scene.provider.create(key, &request(tier)).await.unwrap();
            let again = scene.provider.create(key, &request(tier)).await.unwrap();
            assert_eq!(again.id, made.id);
            time.advance(Duration::from_secs(31));
            let deletion = scene.provider.delete(&made.id).await;
            assert_eq!(deletion, Ok(Deletion::Accepted));
            assert_eq!(scene.provider.get(&made.id).await, Ok(None));
        }
    }
    assert_eq!(scene.live(), (0, 0));
}

#[tokio::test]
async fn a_pod_that_ended_by_itself_has_failed() {
    let scene = Scene::new(LB).await;
    let made = scene.create(Tier::Pod).await;
    scene.ready(&made.id).await;
    scene.fake.exit(made.id.strip_prefix("pod:").unwrap());
    let seen = scene.provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!(
        (seen.state, seen.detail.as_str()),
        (ProviderState::Failed, "the pod's state is exited")
    );
}

#[tokio::test]
async fn an_endpoint_that_was_lowered_is_raised_again() {
    let time = still();
    let scene = Scene::with(time.clock(), Settings::quick(), LB).await;
    scene
        .provider
        .create("key", &with(Tier::Serverless, json!({ "max_workers": 3 })))
        .await
        .unwrap();
    let most = || scene.fake.truth()["endpoints"][0]["max"].as_u64().unwrap();
    time.advance(Duration::from_secs(86_400 * 8));
    scene.provider.list("owner", None).await.unwrap();
    assert_eq!(most(), 3, "the list saw that it was 0");
    let id = scene.fake.truth()["endpoints"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    scene.fake.limit_endpoint(&id, 1);
    scene.provider.list("owner", None).await.unwrap();
    assert_eq!(most(), 1, "not twice within a minute");
    time.advance(Duration::from_secs(61));
    scene.provider.list("owner", None).await.unwrap();
    assert_eq!(most(), 3);
}
