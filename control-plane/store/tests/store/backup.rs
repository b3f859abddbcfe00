use std::fs;
use std::os::unix::fs::PermissionsExt;

use thermocline_store::{Store, StoreError};

use crate::support::{Folder, in_memory, with_deployments};

#[tokio::test]
async fn a_backup_opens_as_a_store_with_everything_in_it() {
    let folder = Folder::new();
    let store = folder.open().await;
    with_deployments(&store, &["a", "b"]).await;
    store.backup(&folder.path("copy.db")).await.unwrap();
    with_deployments(&store, &["later"]).await;

    let copy = Store::open(&folder.url("copy.db")).await.unwrap();
    assert_eq!(copy.deployments().await.unwrap().len(), 2);
    assert_eq!(copy.owner().await.unwrap(), store.owner().await.unwrap());
    let mode = fs::metadata(folder.path("copy.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_database_in_memory_can_be_backed_up() {
    let folder = Folder::new();
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    store
        .backup(&folder.path("copy 'quoted'.db"))
        .await
        .unwrap();
    assert!(folder.path("copy 'quoted'.db").exists());
}

#[tokio::test]
async fn a_backup_never_replaces_a_file() {
    let folder = Folder::new();
    let store = folder.open().await;
    for (name, content) in [("full", "precious"), ("empty", "")] {
        let path = folder.path(name);
        fs::write(&path, content).unwrap();
        let refused = store.backup(&path).await;
        assert!(matches!(refused, Err(StoreError::BackupExists)), "{name}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn a_backup_to_nowhere_leaves_nothing_and_names_no_path() {
    let folder = Folder::new();
    let store = folder.open().await;
    let error = store
        .backup(&folder.path("missing/copy.db"))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the store is not available");
    store.ping().await.unwrap();
}
