use crate::support::{Folder, in_memory};

#[tokio::test]
async fn the_owner_is_made_once_and_stays() {
    let folder = Folder::new();
    let store = folder.open().await;
    let owner = store.owner().await.unwrap();
    store.close().await;
    assert_eq!(folder.open().await.owner().await.unwrap(), owner);
}

#[tokio::test]
async fn owners_are_short_differ_and_fit_into_a_name() {
    let owner = in_memory().await.owner().await.unwrap();
    assert_eq!(owner.len(), 10);
    assert!(
        owner
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    );
    assert_ne!(owner, in_memory().await.owner().await.unwrap());
}

#[tokio::test]
async fn of_two_first_starts_one_sets_the_admin_token() {
    let folder = Folder::new();
    let (one, two) = (folder.open().await, folder.open().await);
    assert_eq!(one.admin_token_hash().await.unwrap(), None);
    let (a, b) = ([1; 32], [2; 32]);
    let (first, second) =
        tokio::join!(one.init_admin_token_hash(&a), two.init_admin_token_hash(&b));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_ne!(first, second);
    let kept = if first { a } else { b };
    assert_eq!(two.admin_token_hash().await.unwrap(), Some(kept));
}

#[tokio::test]
async fn an_admin_token_from_outside_replaces_the_first() {
    let store = in_memory().await;
    assert!(store.init_admin_token_hash(&[1; 32]).await.unwrap());
    store.set_admin_token_hash(&[2; 32]).await.unwrap();
    assert!(!store.init_admin_token_hash(&[3; 32]).await.unwrap());
    assert_eq!(store.admin_token_hash().await.unwrap(), Some([2; 32]));
}
