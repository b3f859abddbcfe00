use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::SecretError;

/// What secrets are sealed with: 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

/// Where the key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOrigin {
    /// Nowhere but in this process: a store in memory needs no other.
    Memory,
    /// It was given.
    Given(SecretKey),
    /// In a file, which is made, for its owner alone, with the first secret.
    File(PathBuf),
}

impl SecretKey {
    /// A new one.
    pub fn generate() -> Self {
        let mut bytes = [0u8; 32];
        // Without randomness of the system there is no safe way on.
        getrandom::fill(&mut bytes).unwrap_or_else(|_| std::process::abort());
        SecretKey(bytes)
    }

    /// Reads 32 bytes in base64; blanks around them do not matter.
    ///
    /// # Errors
    /// [`SecretError::BadKey`].
    pub fn from_base64(text: &str) -> Result<Self, SecretError> {
        let bytes = STANDARD.decode(text.trim()).ok();
        let exact = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        exact.map(SecretKey).ok_or(SecretError::BadKey)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

impl KeyOrigin {
    /// The key, where it is there.
    pub(super) fn read(&self) -> Result<Option<SecretKey>, SecretError> {
        match self {
            KeyOrigin::Memory => Ok(None),
            KeyOrigin::Given(key) => Ok(Some(key.clone())),
            KeyOrigin::File(path) => read(path),
        }
    }

    /// A new key, where none is there yet; on disk when this returns.
    pub(super) fn make(&self) -> Result<SecretKey, SecretError> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        let key = SecretKey::generate();
        if let KeyOrigin::File(path) = self {
            write(path, &key)?;
        }
        Ok(key)
    }
}

fn read(path: &Path) -> Result<Option<SecretKey>, SecretError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if std::fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!("others than its owner may use the file of the secrets' key");
    }
    SecretKey::from_base64(&text).map(Some)
}

/// Never leaves half a key: it gets its name when all of it is on disk.
fn write(path: &Path, key: &SecretKey) -> std::io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    // What a crash left may be readable by others.
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&unfinished)?;
    writeln!(file, "{}", STANDARD.encode(key.bytes()))?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
