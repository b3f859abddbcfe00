use thermocline_store::{NewEvent, Store};

use crate::support::{NOW, in_memory};

fn numbered(count: i64) -> Vec<NewEvent> {
    (0..count)
        .map(|i| NewEvent {
            at: NOW + i,
            kind: "test".into(),
            deployment: (i % 2 == 0).then(|| "a".into()),
            body: i.to_string(),
        })
        .collect()
}

async fn seqs(store: &Store, after: i64) -> Vec<i64> {
    let events = store.events_after(after, 10_000).await.unwrap();
    events.into_iter().map(|event| event.seq).collect()
}

#[tokio::test]
async fn events_read_back_in_their_order() {
    let store = in_memory().await;
    assert_eq!(store.append_events(&numbered(2500)).await.unwrap(), 2500);
    let events = store.events_after(0, 10_000).await.unwrap();
    assert_eq!(events.len(), 2500);
    for (i, event) in (0..).zip(&events) {
        assert_eq!(
            (event.seq, event.at, &*event.body),
            (i + 1, NOW + i, &*i.to_string())
        );
        assert_eq!(event.deployment.is_some(), i % 2 == 0);
    }
}

#[tokio::test]
async fn a_reader_goes_on_where_it_was() {
    let store = in_memory().await;
    store.append_events(&numbered(10)).await.unwrap();
    let page = store.events_after(4, 3).await.unwrap();
    assert_eq!(page.iter().map(|e| e.seq).collect::<Vec<_>>(), [5, 6, 7]);
    assert_eq!(seqs(&store, 10).await, []);
}

#[tokio::test]
async fn no_event_is_no_number() {
    let store = in_memory().await;
    assert_eq!(store.last_event_seq().await.unwrap(), 0);
    assert_eq!(store.append_events(&[]).await.unwrap(), 0);
    store.append_events(&numbered(3)).await.unwrap();
    assert_eq!(store.append_events(&[]).await.unwrap(), 3);
}

#[tokio::test]
async fn the_newest_survive_and_numbers_are_never_used_again() {
    let store = in_memory().await;
    store.append_events(&numbered(10)).await.unwrap();
    assert_eq!(store.prune_events(20).await.unwrap(), 0);
    assert_eq!(store.prune_events(4).await.unwrap(), 6);
    assert_eq!(seqs(&store, 0).await, [7, 8, 9, 10]);
    assert_eq!(store.prune_events(0).await.unwrap(), 4);
    assert_eq!(store.last_event_seq().await.unwrap(), 10);
    assert_eq!(store.append_events(&numbered(1)).await.unwrap(), 11);
}
