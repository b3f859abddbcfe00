use std::time::Duration;

use thermocline_policy::fleet::Class;
use thermocline_store::{
    DeadLetterCause, DeadLetterFilter, DeadLetterLimits, DeadLetterState, NewDeadLetter, Store,
};

use crate::support::{Folder, NOW, in_memory};

fn letter(id: &str, class: Class, fingerprint: &str) -> NewDeadLetter {
    NewDeadLetter {
        id: id.into(),
        deployment: "sdxl".into(),
        class,
        fingerprint: fingerprint.into(),
        cause: DeadLetterCause::GivenUp,
        kind: "timed_out".into(),
        detail: "no answer".into(),
        attempts: 3,
        failures: "[]".into(),
        head: Some("{}".into()),
        payload_bytes: 3,
        payload: Some(b"abc".into()),
        cut: "[]".into(),
    }
}

async fn archive(store: &Store, id: &str, class: Class) {
    let new = letter(id, class, "f");
    assert!(store.archive_dead_letter(&new, NOW).await.unwrap());
}

async fn ids(store: &Store, filter: &DeadLetterFilter) -> Vec<String> {
    let rows = store.dead_letters(filter, None, 100).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

const LIMITS: DeadLetterLimits = DeadLetterLimits {
    letters: 100,
    age: Duration::from_secs(3_600),
    payload_bytes: 1_000,
};

#[tokio::test]
async fn a_letter_outlives_the_process_with_all_that_was_known() {
    let folder = Folder::new();
    let store = folder.open().await;
    archive(&store, "a", Class::Poison).await;
    store.close().await;
    let store = folder.open().await;
    let row = store.dead_letter("a").await.unwrap().unwrap();
    assert_eq!((row.class, row.attempts), (Class::Poison, 3));
    assert_eq!(row.state, DeadLetterState::Open);
    assert!(row.payload_kept);
    let payload = store.dead_letter_payload("a").await.unwrap();
    assert_eq!(payload.unwrap(), b"abc");
    assert_eq!(store.dead_letter("b").await.unwrap(), None);
}

#[tokio::test]
async fn b31_a_second_copy_of_a_job_is_no_second_letter_and_no_further_attempt() {
    let store = in_memory().await;
    archive(&store, "a", Class::Transient).await;
    let again = NewDeadLetter {
        attempts: 4,
        payload: None,
        ..letter("a", Class::Transient, "other")
    };
    let is_new = store.archive_dead_letter(&again, NOW + 5).await.unwrap();
    assert!(!is_new);
    let all = DeadLetterFilter::default();
    let rows = store.dead_letters(&all, None, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].attempts, &*rows[0].fingerprint), (3, "f"));
    assert_eq!((rows[0].first_seen, rows[0].last_seen), (NOW, NOW));
    assert!(rows[0].payload_kept);
}

#[tokio::test]
async fn letters_are_found_by_what_they_are_newest_first_and_page_by_page() {
    let store = in_memory().await;
    archive(&store, "a", Class::Transient).await;
    archive(&store, "b", Class::Poison).await;
    let other = NewDeadLetter {
        deployment: "bert".into(),
        ..letter("c", Class::Transient, "g")
    };
    store.archive_dead_letter(&other, NOW).await.unwrap();
    let all = DeadLetterFilter::default();
    assert_eq!(ids(&store, &all).await, ["c", "b", "a"]);
    let first = store.dead_letters(&all, None, 2).await.unwrap();
    let rest = store.dead_letters(&all, Some(first[1].seq), 2).await;
    assert_eq!(rest.unwrap()[0].id, "a");
    let of = |filter: DeadLetterFilter| async { ids(&store, &{ filter }).await };
    let class = Some(Class::Transient);
    assert_eq!(
        of(DeadLetterFilter {
            class,
            ..all.clone()
        })
        .await,
        ["c", "a"]
    );
    let deployment = Some("bert".to_owned());
    assert_eq!(
        of(DeadLetterFilter {
            deployment,
            ..all.clone()
        })
        .await,
        ["c"]
    );
    let fingerprint = Some("f".to_owned());
    assert_eq!(
        of(DeadLetterFilter {
            fingerprint,
            ..all.clone()
        })
        .await,
        ["b", "a"]
    );
    store.discard_dead_letter("a", NOW).await.unwrap();
    let state = Some(DeadLetterState::Discarded);
    assert_eq!(
        of(DeadLetterFilter {
            state,
            ..all.clone()
        })
        .await,
        ["a"]
    );
}

#[tokio::test]
async fn letters_that_failed_alike_are_a_group() {
    let store = in_memory().await;
    archive(&store, "a", Class::Transient).await;
    archive(&store, "b", Class::Deterministic).await;
    let newest = NewDeadLetter {
        deployment: "bert".into(),
        detail: "still no answer".into(),
        payload: None,
        ..letter("c", Class::Transient, "f")
    };
    store.archive_dead_letter(&newest, NOW + 9).await.unwrap();
    let alone = letter("d", Class::Poison, "g");
    store.archive_dead_letter(&alone, NOW + 1).await.unwrap();
    let all = DeadLetterFilter::default();
    let groups = store.dead_letter_groups(&all, 10).await.unwrap();
    assert_eq!(groups.len(), 2);
    let group = &groups[0];
    assert_eq!(
        (&*group.fingerprint, &*group.detail),
        ("f", "still no answer")
    );
    assert_eq!(group.classes, [Class::Transient, Class::Deterministic]);
    assert_eq!(group.deployments, ["bert", "sdxl"]);
    assert_eq!((group.letters, group.open, group.replayable), (3, 3, 1));
    assert_eq!((group.first_seen, group.last_seen), (NOW, NOW + 9));
}

#[tokio::test]
async fn only_what_is_open_transient_and_kept_whole_is_replayed() {
    let store = in_memory().await;
    archive(&store, "a", Class::Transient).await;
    archive(&store, "b", Class::Poison).await;
    archive(&store, "c", Class::Deterministic).await;
    let cut = NewDeadLetter {
        payload: None,
        ..letter("d", Class::Transient, "f")
    };
    store.archive_dead_letter(&cut, NOW).await.unwrap();
    archive(&store, "e", Class::Transient).await;
    assert!(store.begin_replay("a", NOW + 1).await.unwrap());
    for id in ["a", "b", "c", "d", "x"] {
        assert!(!store.begin_replay(id, NOW + 1).await.unwrap(), "{id}");
    }
    let group = store.begin_group_replay("f", NOW + 2).await.unwrap();
    assert_eq!(group, ["e"]);
}

#[tokio::test]
async fn a_replay_ends_once_and_one_that_was_interrupted_is_open_again() {
    let store = in_memory().await;
    archive(&store, "a", Class::Transient).await;
    archive(&store, "b", Class::Transient).await;
    store.begin_group_replay("f", NOW).await.unwrap();
    let done = DeadLetterState::Replayed;
    store.end_replay("a", done, "{}", NOW + 1).await.unwrap();
    let late = DeadLetterState::Open;
    store.end_replay("a", late, "{}", NOW + 2).await.unwrap();
    let row = store.dead_letter("a").await.unwrap().unwrap();
    assert_eq!((row.state, row.changed_at), (done, NOW + 1));
    assert_eq!(store.reopen_replays("{}", NOW + 3).await.unwrap(), 1);
    let row = store.dead_letter("b").await.unwrap().unwrap();
    assert_eq!(row.state, DeadLetterState::Open);
}

#[tokio::test]
async fn what_is_discarded_has_no_payload_and_what_is_replayed_is_not_discarded() {
    let store = in_memory().await;
    archive(&store, "a", Class::Transient).await;
    assert!(store.begin_replay("a", NOW).await.unwrap());
    assert!(!store.discard_dead_letter("a", NOW).await.unwrap());
    let state = DeadLetterState::Replayed;
    store.end_replay("a", state, "{}", NOW).await.unwrap();
    assert!(store.discard_dead_letter("a", NOW + 7).await.unwrap());
    assert!(!store.discard_dead_letter("a", NOW + 9).await.unwrap());
    let row = store.dead_letter("a").await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.changed_at),
        (DeadLetterState::Discarded, NOW + 7)
    );
    assert_eq!((row.payload_kept, row.payload_bytes), (false, 3));
    assert!(!store.discard_dead_letter("x", NOW).await.unwrap());
}

#[tokio::test]
async fn the_oldest_go_first_by_count_by_age_and_by_bytes() {
    let store = in_memory().await;
    for id in ["a", "b", "c", "d"] {
        archive(&store, id, Class::Transient).await;
    }
    let bytes = DeadLetterLimits {
        payload_bytes: 7,
        ..LIMITS
    };
    assert_eq!(store.prune_dead_letters(&bytes, NOW).await.unwrap(), 0);
    let kept = async |id: &str| store.dead_letter(id).await.unwrap().unwrap().payload_kept;
    assert!(!kept("b").await && kept("c").await && kept("d").await);

    let count = DeadLetterLimits {
        letters: 2,
        ..LIMITS
    };
    assert_eq!(store.prune_dead_letters(&count, NOW).await.unwrap(), 2);
    assert_eq!(ids(&store, &DeadLetterFilter::default()).await, ["d", "c"]);

    let later = NOW + 3_600_000_001;
    assert!(store.begin_replay("c", later).await.unwrap());
    assert_eq!(store.prune_dead_letters(&LIMITS, later).await.unwrap(), 1);
    assert_eq!(ids(&store, &DeadLetterFilter::default()).await, ["c"]);
}
