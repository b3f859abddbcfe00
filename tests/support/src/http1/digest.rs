use std::fmt::Write;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// SHA-256, in hexadecimal, of `pieces` in a row.
pub fn sha256_hex(pieces: impl IntoIterator<Item = Bytes>) -> String {
    let hash = pieces.into_iter().fold(Sha256::new(), Sha256::chain_update);
    hex(&hash.finalize())
}

/// `bytes` in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
