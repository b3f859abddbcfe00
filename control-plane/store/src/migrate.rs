//! The schema's versions: applied in order, in one transaction, never edited.

use sha2::{Digest, Sha256};
use sqlx::SqliteConnection;

use crate::{Result, StoreError};

struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "initial",
        sql: include_str!("../../../migrations/sqlite/0001_initial.sql"),
    },
    Migration {
        version: 2,
        name: "sessions",
        sql: include_str!("../../../migrations/sqlite/0002_sessions.sql"),
    },
    Migration {
        version: 3,
        name: "ledger",
        sql: include_str!("../../../migrations/sqlite/0003_ledger.sql"),
    },
    Migration {
        version: 4,
        name: "secrets",
        sql: include_str!("../../../migrations/sqlite/0004_secrets.sql"),
    },
    Migration {
        version: 5,
        name: "dead_letters",
        sql: include_str!("../../../migrations/sqlite/0005_dead_letters.sql"),
    },
    Migration {
        version: 6,
        name: "compared",
        sql: include_str!("../../../migrations/sqlite/0006_compared.sql"),
    },
    Migration {
        version: 7,
        name: "idle",
        sql: include_str!("../../../migrations/sqlite/0007_idle.sql"),
    },
    Migration {
        version: 8,
        name: "worker_starts",
        sql: include_str!("../../../migrations/sqlite/0008_worker_starts.sql"),
    },
    Migration {
        version: 9,
        name: "placements",
        sql: include_str!("../../../migrations/sqlite/0009_placements.sql"),
    },
    Migration {
        version: 10,
        name: "woken",
        sql: include_str!("../../../migrations/sqlite/0010_woken.sql"),
    },
    Migration {
        version: 11,
        name: "charged",
        sql: include_str!("../../../migrations/sqlite/0011_charged.sql"),
    },
];

const LEDGER: &str = "create table if not exists schema_migrations (
    version  integer primary key,
    name     text not null,
    checksum blob not null
) strict";

impl Migration {
    fn checksum(&self) -> Vec<u8> {
        Sha256::digest(self.sql).to_vec()
    }
}

/// Whether this program may use the database; only reads.
///
/// # Errors
/// [`StoreError::NewerSchema`], [`StoreError::ChangedMigration`], [`StoreError::Foreign`].
pub(crate) async fn check(conn: &mut SqliteConnection) -> Result<()> {
    verify(&applied(conn).await?)
}

/// Brings the schema to the newest version; to be called under the write lock,
/// and so checks again what another process may have done meanwhile.
///
/// # Errors
/// Those of [`check`].
pub(crate) async fn migrate(conn: &mut SqliteConnection) -> Result<()> {
    let applied = applied(conn).await?;
    verify(&applied)?;
    sqlx::query(LEDGER).execute(&mut *conn).await?;
    for migration in &MIGRATIONS[applied.len()..] {
        apply(conn, migration).await?;
    }
    Ok(())
}

/// Version and checksum of every migration that the database has had, in order.
async fn applied(conn: &mut SqliteConnection) -> Result<Vec<(i64, Vec<u8>)>> {
    let tables: Vec<String> =
        sqlx::query_scalar("select name from sqlite_schema where type = 'table'")
            .fetch_all(&mut *conn)
            .await?;
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    if !tables.iter().any(|name| name == "schema_migrations") {
        return Err(StoreError::Foreign);
    }
    let rows = sqlx::query_as("select version, checksum from schema_migrations order by version");
    Ok(rows.fetch_all(conn).await?)
}

/// Whether `applied` is how [`MIGRATIONS`] begins.
fn verify(applied: &[(i64, Vec<u8>)]) -> Result<()> {
    let known = MIGRATIONS.last().map_or(0, |newest| newest.version);
    match applied.last() {
        Some(&(found, _)) if found > known => return Err(StoreError::NewerSchema { found, known }),
        _ => {}
    }
    for (i, (version, checksum)) in applied.iter().enumerate() {
        let ours = MIGRATIONS.get(i).filter(|ours| ours.version == *version);
        if ours.is_none_or(|ours| ours.checksum() != *checksum) {
            return Err(StoreError::ChangedMigration { version: *version });
        }
    }
    Ok(())
}

async fn apply(conn: &mut SqliteConnection, migration: &Migration) -> Result<()> {
    sqlx::raw_sql(migration.sql).execute(&mut *conn).await?;
    sqlx::query("insert into schema_migrations (version, name, checksum) values (?, ?, ?)")
        .bind(migration.version)
        .bind(migration.name)
        .bind(migration.checksum())
        .execute(conn)
        .await?;
    tracing::info!(
        version = migration.version,
        name = migration.name,
        "schema migrated"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_a_migration_in_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".sql"))
            .collect();
        files.sort();
        let named = |m: &Migration| format!("{:04}_{}.sql", m.version, m.name);
        assert_eq!(files, MIGRATIONS.iter().map(named).collect::<Vec<_>>());
        assert!(
            MIGRATIONS
                .iter()
                .map(|m| m.version)
                .eq(1..=files.len() as i64)
        );
    }

    #[test]
    fn a_schema_is_accepted_only_as_a_beginning_of_ours() {
        let ours: Vec<_> = MIGRATIONS
            .iter()
            .map(|m| (m.version, m.checksum()))
            .collect();
        assert!(verify(&[]).is_ok());
        assert!(verify(&ours).is_ok());
        let changed = verify(&[(1, vec![0; 32])]);
        assert!(matches!(
            changed,
            Err(StoreError::ChangedMigration { version: 1 })
        ));
        let newer = verify(&[ours, vec![(999, vec![])]].concat());
        assert!(matches!(
            newer,
            Err(StoreError::NewerSchema { found: 999, .. })
        ));
    }
}
