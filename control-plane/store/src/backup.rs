use std::path::Path;

use crate::open::create_private;
use crate::{Result, Store, StoreError};

impl Store {
    /// Writes a copy of the database, as of now, to a new file at `path`, for
    /// its owner only. Reading and writing go on meanwhile.
    ///
    /// # Errors
    /// [`StoreError::BackupExists`] where there is a file already;
    /// [`StoreError::Unavailable`] where it cannot be written, and none is left.
    pub async fn backup(&self, path: &Path) -> Result<()> {
        claim(path).await?;
        let copied = self.copy_into(path).await;
        if copied.is_err() {
            // The first error says more than one about the clean-up would.
            let _ = tokio::fs::remove_file(path).await;
        }
        copied
    }

    async fn copy_into(&self, path: &Path) -> Result<()> {
        // SQLite accepts a file that exists as long as it is empty.
        sqlx::query("vacuum into ?")
            .bind(text(path)?)
            .execute(&self.readers)
            .await?;
        Ok(tokio::fs::File::open(path).await?.sync_all().await?)
    }
}

/// Creating the file is the check, so that nobody comes in between.
async fn claim(path: &Path) -> Result<()> {
    match create_private(path).await {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::BackupExists)
        }
        created => Ok(created?),
    }
}

/// Absolute, since SQLite takes a relative path like `file:…` for a URI.
fn text(path: &Path) -> std::io::Result<String> {
    let text = std::path::absolute(path)?.into_os_string().into_string();
    text.map_err(|_| std::io::ErrorKind::InvalidFilename.into())
}
