use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};

use crate::{Result, Store, StoreError, installation, migrate};

/// Beyond it, a lock held by another process is an error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Beyond it, a call that waits for a connection is an error.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

const READERS: u32 = 4;

impl Store {
    /// Opens `sqlite://FILE` (created, for its owner only, where it is not there)
    /// or `sqlite::memory:`, and brings it to the current schema.
    ///
    /// # Errors
    /// [`StoreError::Url`]; [`StoreError::NewerSchema`],
    /// [`StoreError::ChangedMigration`] and [`StoreError::Foreign`], with the
    /// database untouched; [`StoreError::Corrupt`] where it is no database;
    /// [`StoreError::Unavailable`] where it cannot be reached.
    pub async fn open(url: &str) -> Result<Store> {
        let place = Place::from_str(url)?.fixed()?;
        place.create().await?;
        let writer = pool(1).connect_with(place.options()).await?;
        if let Err(error) = prepare(&writer).await {
            writer.close().await;
            return Err(error);
        }
        let readers = match place {
            Place::Memory => writer.clone(),
            Place::File(_) => pool(READERS).connect_lazy_with(place.options()),
        };
        Ok(Store {
            writer,
            readers,
            gate: None,
        })
    }
}

/// Looks before it touches: what is refused stays as it was.
async fn prepare(writer: &SqlitePool) -> Result<()> {
    migrate::check(&mut *writer.acquire().await?).await?;
    sqlx::query("pragma journal_mode = wal")
        .execute(writer)
        .await?;
    let mut tx = writer.begin_with("begin immediate").await?;
    migrate::migrate(&mut tx).await?;
    installation::found(&mut tx).await?;
    Ok(tx.commit().await?)
}

/// Connections stay open: the one to memory is the database itself.
fn pool(size: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(size)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
}

/// Where the database is.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// In one connection: shared between several, memory knows no busy timeout.
    Memory,
    File(PathBuf),
}

impl FromStr for Place {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self> {
        match url.strip_prefix("sqlite:") {
            Some(":memory:" | "//:memory:") => Ok(Place::Memory),
            Some(rest) => match rest.strip_prefix("//") {
                // SQLite's own parameters could take the guarantees away.
                Some(path) if !path.is_empty() && !path.contains(['?', '#']) => {
                    Ok(Place::File(path.into()))
                }
                _ => Err(StoreError::Url),
            },
            None => Err(StoreError::Url),
        }
    }
}

impl Place {
    /// The same place whatever becomes of the working directory: readers open later.
    fn fixed(self) -> Result<Self> {
        Ok(match self {
            Place::Memory => Place::Memory,
            Place::File(path) => Place::File(std::path::absolute(path)?),
        })
    }

    async fn create(&self) -> Result<()> {
        match self {
            Place::Memory => Ok(()),
            Place::File(path) => match create_private(path).await {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
                created => Ok(created?),
            },
        }
    }

    fn options(&self) -> SqliteConnectOptions {
        let path = match self {
            Place::Memory => Path::new(":memory:"),
            Place::File(path) => path,
        };
        SqliteConnectOptions::new()
            .filename(path)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
    }
}

/// A new, empty file that only its owner can read. Never opens one that is
/// there: closing it would drop the locks that SQLite holds on it.
pub(crate) async fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn place(url: &str) -> Option<Place> {
        url.parse().ok()
    }

    #[test]
    fn urls_name_a_file_or_memory() {
        let file = |path: &str| Some(Place::File(path.into()));
        assert_eq!(place("sqlite://thermocline.db"), file("thermocline.db"));
        assert_eq!(place("sqlite:///var/lib/t.db"), file("/var/lib/t.db"));
        assert_eq!(place("sqlite::memory:"), Some(Place::Memory));
        for url in [
            "",
            "sqlite:",
            "sqlite://",
            "postgres://db/t",
            "t.db",
            "sqlite://t.db?mode=ro",
        ] {
            assert_eq!(place(url), None, "{url}");
        }
    }

    /// Polls `call` so often, then drops it.
    async fn leave<T>(call: impl Future<Output = T>, polls: usize) {
        let mut call = pin!(call);
        let mut left = polls;
        poll_fn(|cx| {
            left = left.saturating_sub(1);
            match left {
                0 => Poll::Ready(()),
                _ => call.as_mut().poll(cx).map(drop),
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_call_that_is_left_anywhere_gives_its_connection_back() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("t.db").display());
        let store = Store::open(&url).await.unwrap();
        for polls in 1..40 {
            leave(store.set_admin_token_hash(&[polls as u8; 32]), polls).await;
            leave(store.owner(), polls).await;
        }
        let mut tx = store.begin().await.unwrap();
        let mut held = Vec::new();
        for _ in 0..READERS {
            held.push(store.readers.acquire().await.unwrap());
        }
        sqlx::query("select 1").execute(&mut *tx).await.unwrap();
    }

    #[tokio::test]
    async fn every_connection_has_the_guarantees() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("t.db").display());
        let store = Store::open(&url).await.unwrap();
        for pool in [&store.writer, &store.readers] {
            let settings: (String, i64, i64, i64) = sqlx::query_as(
                "select * from pragma_journal_mode, pragma_synchronous,
                               pragma_foreign_keys, pragma_busy_timeout",
            )
            .fetch_one(pool)
            .await
            .unwrap();
            const FULL: i64 = 2;
            assert_eq!(settings, ("wal".into(), FULL, 1, 5000));
        }
    }
}
