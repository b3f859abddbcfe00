use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{SecretError, Secrets};

impl Secrets {
    /// `text` of a row as the store may keep it, in base64; makes the key where
    /// none is there yet. No secret has a name like `row`'s: `kind/id`.
    ///
    /// # Errors
    /// [`SecretError::BadKey`] and [`SecretError::KeyFile`].
    pub(crate) fn seal_text(&self, row: &str, text: &str) -> Result<String, SecretError> {
        Ok(STANDARD.encode(self.seal(row, text)?))
    }

    /// What was sealed for `row`; `None` where it does not open, as under
    /// another key, or for another row.
    pub(crate) fn open_text(&self, row: &str, sealed: &str) -> Option<String> {
        let sealed = STANDARD.decode(sealed).ok()?;
        self.sealer()?.open(row, &sealed)
    }
}
