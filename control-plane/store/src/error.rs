use thermocline_policy::OverBudget;
use thiserror::Error;

/// What the store answers with.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why the store did not do what it was asked.
///
/// The text never holds a path or what the database said; that is in the
/// source, for the log alone.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The caller's: it asked to create what is there.
    #[error("{0} exists already")]
    Exists(String),
    /// The caller's: it asked for what is not there.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The caller's: the deployment is being torn down; later it will be gone.
    #[error("{0} is being deleted")]
    Deleting(String),
    /// The caller's: it changed an older generation than the current one; read again.
    #[error("the deployment is at generation {current} by now")]
    GenerationChanged {
        /// The generation that stands.
        current: i64,
    },
    /// Nobody's: another start of this deployment, tier and slot is on its way; join it.
    #[error("a start in this slot is in progress")]
    StartInProgress,
    /// The caller's: a budget or a ceiling does not hold what it wanted to start.
    #[error("{0}")]
    OverBudget(#[from] OverBudget),
    /// The caller's: instances of the deployment may still exist at a provider.
    #[error("{0} still has instances")]
    InstancesRemain(String),
    /// The caller's: a backup never replaces a file.
    #[error("the file for the backup exists already")]
    BackupExists,
    /// The configuration's: not a URL of a database that this build can use.
    #[error("the store's URL must be sqlite://FILE or sqlite::memory:")]
    Url,
    /// The operator's: a newer version of this program wrote the database.
    #[error("the database has schema version {found}, this program knows up to {known}")]
    NewerSchema {
        /// The database's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The operator's: the database was migrated by another text of this version.
    #[error("migration {version} of the database is not the one that this program has")]
    ChangedMigration {
        /// Which migration.
        version: i64,
    },
    /// The operator's: the file is a database of another program.
    #[error("the database belongs to another program")]
    Foreign,
    /// The operator's: the content cannot be read; retrying does not help, a backup does.
    #[error("it is no SQLite database, or it is damaged")]
    Corrupt(#[source] Source),
    /// The machine's: disk, permissions, locks; the same call may succeed later.
    #[error("the store is not available")]
    Unavailable(#[source] Source),
}

impl StoreError {
    /// Whether the same call may succeed later without a person.
    pub const fn transient(&self) -> bool {
        matches!(
            self,
            StoreError::Unavailable(_) | StoreError::StartInProgress
        )
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_damage(&error) {
            StoreError::Corrupt(error.into())
        } else {
            StoreError::Unavailable(error.into())
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        StoreError::Unavailable(error.into())
    }
}

/// Whether `error` says that a row refers to one that is not there.
pub(crate) fn is_dangling(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_foreign_key_violation())
}

/// Whether `error` says that a key is taken.
pub(crate) fn is_taken(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

fn is_damage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => true,
        sqlx::Error::Database(error) => {
            matches!(
                primary_code(error.as_ref()),
                Some(SQLITE_CORRUPT | SQLITE_NOTADB)
            )
        }
        _ => false,
    }
}

const SQLITE_CORRUPT: u32 = 11;
const SQLITE_NOTADB: u32 = 26;

/// SQLite's code without the extension in its upper bits.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> Option<u32> {
    let extended: u32 = error.code()?.parse().ok()?;
    Some(extended & 0xff)
}
