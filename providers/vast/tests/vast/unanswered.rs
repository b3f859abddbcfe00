//! Creates that are never answered make one instance in the end, and no second.

use std::time::Duration;

use thermocline_fake_vast::Faults;
use thermocline_provider::Provider;
use ulid::Ulid;

use crate::scene::{Scene, request, still};

/// F2 to F5: the create's answer says nothing, and the list lags behind.
async fn made_once(faults: Faults) {
    let time = still();
    let scene = Scene::on(time.clock()).await;
    scene.faults(Faults {
        list_lag_s: 20.0,
        ..faults
    });
    let error = scene.provider.create("key", &request()).await.unwrap_err();
    assert!(!error.before_effect(), "{error:?}");
    let mut created = None;
    for _ in 0..10 {
        time.advance(Duration::from_secs(5));
        created = scene.provider.create("key", &request()).await.ok();
        if created.is_some() {
            break;
        }
    }
    let created = created.expect("it is found or made in the end");
    assert_eq!((created.key.as_str(), scene.live().len()), ("key", 1));
    assert_eq!(scene.made(), 1);
}

#[tokio::test]
async fn f2_a_5xx_before_the_effect_makes_one_in_the_end() {
    made_once(Faults {
        fail_before: 1,
        ..Faults::default()
    })
    .await;
}

#[tokio::test]
async fn f3_a_5xx_after_the_effect_makes_one() {
    made_once(Faults {
        fail_after: 1,
        ..Faults::default()
    })
    .await;
}

#[tokio::test]
async fn f4_a_lost_reply_makes_one() {
    made_once(Faults {
        cut_after: 1,
        ..Faults::default()
    })
    .await;
}

/// The process that asked is gone; the next one knows only that the key is older than itself.
#[tokio::test]
async fn f5_a_process_started_anew_makes_no_second_one_while_the_list_lags() {
    let time = still();
    let scene = Scene::on(time.clock()).await;
    let key = Ulid::from_parts(1_799_999_999_000, 1).to_string();
    scene.faults(Faults {
        cut_after: 1,
        list_lag_s: 20.0,
        ..Faults::default()
    });
    time.advance(Duration::from_secs(60));
    scene.provider.create(&key, &request()).await.unwrap_err();
    let anew = scene.restarted();
    for _ in 0..3 {
        anew.create(&key, &request()).await.unwrap_err();
        time.advance(Duration::from_secs(5));
    }
    time.advance(Duration::from_secs(10));
    anew.create(&key, &request()).await.unwrap();
    assert_eq!((scene.live().len(), scene.made()), (1, 1));
}

/// What the earlier process made is known by its key, whatever time it is now.
#[tokio::test]
async fn f18_a_clock_that_was_set_between_two_processes_makes_no_second_one() {
    for skew_s in [-600_i64, 600] {
        let time = still();
        let scene = Scene::on(time.clock()).await;
        let key = Ulid::from_parts(1_800_000_000_000, 1).to_string();
        scene.faults(Faults {
            cut_after: 1,
            list_lag_s: 20.0,
            ..Faults::default()
        });
        scene.provider.create(&key, &request()).await.unwrap_err();
        let now = time.wall();
        let skew = Duration::from_secs(skew_s.unsigned_abs());
        time.set_wall(if skew_s < 0 { now - skew } else { now + skew });
        let anew = scene.restarted();
        for _ in 0..3 {
            anew.create(&key, &request()).await.unwrap_err();
            time.advance(Duration::from_secs(5));
        }
        time.advance(Duration::from_secs(10));
        anew.create(&key, &request()).await.unwrap();
        assert_eq!((scene.live().len(), scene.made()), (1, 1));
    }
}
