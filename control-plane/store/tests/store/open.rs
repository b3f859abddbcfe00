use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use thermocline_store::{Store, StoreError};

use crate::support::{Folder, NOW, with_deployments};

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let folder = Folder::new();
    let store = folder.open().await;
    with_deployments(&store, &["a"]).await;
    let before = store.deployments().await.unwrap();
    store.close().await;
    assert_eq!(folder.open().await.deployments().await.unwrap(), before);
}

#[tokio::test]
async fn what_was_written_is_there_after_a_kill() {
    let folder = Folder::new();
    let store = folder.open().await;
    with_deployments(&store, &["a"]).await;
    // What the disk holds while the process lives is what a kill leaves.
    for name in ["t.db", "t.db-wal"] {
        fs::copy(folder.path(name), folder.path(&format!("killed-{name}"))).unwrap();
    }
    let after = Store::open(&folder.url("killed-t.db")).await.unwrap();
    assert_eq!(after.deployments().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_file_is_for_its_owner_only() {
    let folder = Folder::new();
    let store = folder.open().await;
    with_deployments(&store, &["a"]).await;
    for name in ["t.db", "t.db-wal"] {
        let mode = fs::metadata(folder.path(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_database_in_memory_is_nobody_elses() {
    let first = Store::open("sqlite::memory:").await.unwrap();
    let second = Store::open("sqlite::memory:").await.unwrap();
    with_deployments(&first, &["a"]).await;
    assert_eq!(first.deployments().await.unwrap().len(), 1);
    assert_eq!(second.deployments().await.unwrap(), []);
    second.ping().await.unwrap();
}

#[tokio::test]
async fn of_many_that_open_a_new_file_at_once_all_succeed() {
    let folder = Folder::new();
    let url = folder.url("t.db");
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let url = url.clone();
        opening.spawn(async move { Store::open(&url).await.unwrap().owner().await.unwrap() });
    }
    let mut owners = opening.join_all().await;
    owners.dedup();
    assert_eq!(owners.len(), 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let folder = tampered("insert into schema_migrations values (999, 'future', x'00')").await;
    let error = refused(&folder).await;
    assert!(
        matches!(error, StoreError::NewerSchema { found: 999, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_changed_migration_is_refused_and_left_alone() {
    let folder = tampered("update schema_migrations set checksum = x'00'").await;
    let error = refused(&folder).await;
    assert!(
        matches!(error, StoreError::ChangedMigration { version: 1 }),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_database_of_another_program_is_refused_and_left_alone() {
    let folder = Folder::new();
    tamper(&folder, "create table theirs (x)").await;
    let error = refused(&folder).await;
    assert!(matches!(error, StoreError::Foreign), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = Folder::new();
    fs::write(folder.path("t.db"), "shopping list ".repeat(100)).unwrap();
    let error = refused(&folder).await;
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
}

#[tokio::test]
async fn errors_name_no_path() {
    let folder = Folder::new();
    let url = folder.url("missing/t.db");
    let error = Store::open(&url).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)));
    assert!(error.transient());
    assert_eq!(error.to_string(), "the store is not available");
    let error = Store::open("postgres://secret@db/t").await.unwrap_err();
    assert!(matches!(error, StoreError::Url));
    assert!(!error.to_string().contains("secret"));
}

#[tokio::test]
async fn a_closed_store_answers_with_an_error() {
    let folder = Folder::new();
    let store = folder.open().await;
    store.ping().await.unwrap();
    store.close().await;
    assert!(matches!(
        store.ping().await,
        Err(StoreError::Unavailable(_))
    ));
    let written = store.set_stopped("a", true, NOW).await;
    assert!(matches!(written, Err(StoreError::Unavailable(_))));
}

/// A store's closed file after `sql`.
async fn tampered(sql: &str) -> Folder {
    let folder = Folder::new();
    folder.open().await.close().await;
    tamper(&folder, sql).await;
    folder
}

async fn tamper(folder: &Folder, sql: &str) {
    let url = format!("{}?mode=rwc", folder.url("t.db"));
    let mut conn = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
}

/// Why the store does not open, after a look that every file is as it was.
async fn refused(folder: &Folder) -> StoreError {
    let before = content(folder);
    let error = Store::open(&folder.url("t.db")).await.unwrap_err();
    assert_eq!(content(folder), before);
    error
}

fn content(folder: &Folder) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
        .collect()
}
