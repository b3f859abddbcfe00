use thermocline_store::SessionRow;

use crate::support::in_memory;

fn session(n: u8, expires_at: i64) -> SessionRow {
    SessionRow {
        hash: [n; 32],
        token_hash: [9; 32],
        expires_at,
    }
}

#[tokio::test]
async fn a_session_is_found_until_it_is_dropped() {
    let store = in_memory().await;
    store.add_session(&session(1, 100), 0).await.unwrap();
    let end = store.session_end(&[1; 32], &[9; 32]).await.unwrap();
    assert_eq!(end, Some(100));
    store.drop_session(&[1; 32]).await.unwrap();
    assert_eq!(store.session_end(&[1; 32], &[9; 32]).await.unwrap(), None);
    store.drop_session(&[1; 32]).await.unwrap();
}

#[tokio::test]
async fn a_session_of_another_token_is_none() {
    let store = in_memory().await;
    store.add_session(&session(1, 100), 0).await.unwrap();
    assert_eq!(store.session_end(&[1; 32], &[8; 32]).await.unwrap(), None);
}

#[tokio::test]
async fn those_that_have_ended_are_removed_when_another_begins() {
    let store = in_memory().await;
    store.add_session(&session(1, 100), 0).await.unwrap();
    store.add_session(&session(2, 300), 100).await.unwrap();
    assert_eq!(store.session_end(&[1; 32], &[9; 32]).await.unwrap(), None);
    assert!(
        store
            .session_end(&[2; 32], &[9; 32])
            .await
            .unwrap()
            .is_some()
    );
}
