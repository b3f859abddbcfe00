//! The file by which the cloud's process is found, and the locks beside it.
//!
//! `FILE` says where the process is and with which token it is called; only
//! its user may read it. The process holds `FILE.owner` as long as it lives, so
//! there is never a second one; whoever starts it holds `FILE.lock` meanwhile.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long the process before may take to let go, and how often to look.
const OWNER_LOOKS: u32 = 100;
const OWNER_LOOK: Duration = Duration::from_millis(50);

/// Where a simulated cloud is called, and with what.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// `http://` with a loopback address and port.
    pub url: String,
    /// The bearer token.
    pub token: String,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

/// What the file says.
#[derive(Serialize, Deserialize)]
pub(crate) struct Rendezvous {
    #[serde(flatten)]
    pub(crate) endpoint: Endpoint,
    pub(crate) pid: u32,
}

impl Rendezvous {
    /// What `file` says; `None` when it is absent or cannot be read as one.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    /// Puts it into `file`, all at once.
    pub(crate) fn write(&self, file: &Path) -> io::Result<()> {
        let draft = beside(file, "new");
        let _left_by_a_crash = fs::remove_file(&draft);
        let mut options = OpenOptions::new();
        let mut written = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        written.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(draft, file)
    }
}

/// Claims `file` for this process; the claim ends with the returned file.
///
/// # Errors
/// When another process keeps it.
pub(crate) async fn own(file: &Path) -> io::Result<File> {
    let claim = open_lock(file, "owner")?;
    let mut looks = tokio::time::interval(OWNER_LOOK);
    for _ in 0..OWNER_LOOKS {
        looks.tick().await;
        match claim.try_lock() {
            Ok(()) => return Ok(claim),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    let kept = "another simulated cloud holds the file";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, kept))
}

/// Waits until nobody else starts a process for `file`; the wait of others ends with the returned file.
pub(crate) async fn lock_start(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = open_lock(file, "lock")?;
    let locked = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
    locked.await.map_err(io::Error::other)?
}

fn open_lock(file: &Path, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    options.open(beside(file, name))
}

fn beside(file: &Path, extension: &str) -> PathBuf {
    file.with_added_extension(extension)
}

/// `N` random bytes in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
