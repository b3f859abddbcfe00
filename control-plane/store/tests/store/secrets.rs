use thermocline_store::StoreError;

use crate::support::{Folder, NOW, in_memory};

#[tokio::test]
async fn a_secret_set_again_keeps_its_beginning() {
    let store = in_memory().await;
    let first = store.put_secret("hf", b"one", NOW).await.unwrap();
    assert_eq!((first.created_at, first.updated_at), (NOW, NOW));
    let second = store.put_secret("hf", b"two", NOW + 5).await.unwrap();
    assert_eq!((second.created_at, second.updated_at), (NOW, NOW + 5));
    assert_eq!(store.secrets().await.unwrap(), [second]);
}

#[tokio::test]
async fn a_secret_outlives_the_process_until_it_is_deleted() {
    let folder = Folder::new();
    let store = folder.open().await;
    store.put_secret("b", b"x", NOW).await.unwrap();
    store.put_secret("a", b"y", NOW).await.unwrap();
    store.close().await;
    let store = folder.open().await;
    let names = async || -> Vec<String> {
        let rows = store.secrets().await.unwrap();
        rows.into_iter().map(|row| row.name).collect()
    };
    assert_eq!(names().await, ["a", "b"]);
    store.delete_secret("a").await.unwrap();
    assert_eq!(names().await, ["b"]);
    let again = store.delete_secret("a").await;
    assert!(matches!(again, Err(StoreError::NotFound(_))));
}
