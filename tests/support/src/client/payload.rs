use std::iter;

use bytes::Bytes;

use crate::http1::sha256_hex;

const PATTERN_PIECE: usize = 64 << 10;

/// The body of a request.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    None,
    Whole(Bytes),
    /// One chunk each.
    Chunks(Vec<Bytes>),
    /// So many bytes of [`pattern`], made while they are sent.
    Pattern {
        bytes: u64,
        chunked: bool,
    },
}

impl Payload {
    pub(super) fn is_chunked(&self) -> bool {
        matches!(
            self,
            Payload::Chunks(_) | Payload::Pattern { chunked: true, .. }
        )
    }

    /// The header line that declares it.
    pub(super) fn declaration(&self) -> Option<String> {
        let length = match self {
            Payload::None => return None,
            Payload::Whole(bytes) => bytes.len() as u64,
            Payload::Pattern {
                bytes,
                chunked: false,
            } => *bytes,
            _ => return Some("transfer-encoding: chunked\r\n".to_owned()),
        };
        Some(format!("content-length: {length}\r\n"))
    }

    pub(super) fn pieces(&self) -> Box<dyn Iterator<Item = Bytes> + Send + '_> {
        match self {
            Payload::None => Box::new(iter::empty()),
            Payload::Whole(bytes) => Box::new(iter::once(bytes.clone())),
            Payload::Chunks(chunks) => Box::new(chunks.iter().cloned()),
            Payload::Pattern { bytes, .. } => Box::new(pattern(*bytes)),
        }
    }
}

/// Pieces of `bytes` bytes in all, of which no two are the same.
fn pattern(bytes: u64) -> impl Iterator<Item = Bytes> + Send {
    let whole = (0..PATTERN_PIECE).map(|i| (i % 251) as u8);
    let template: Vec<u8> = whole.collect();
    let pieces = bytes.div_ceil(PATTERN_PIECE as u64);
    (0..pieces).map(move |piece| {
        let mut content = template.clone();
        content[..8].copy_from_slice(&piece.to_be_bytes());
        let left = bytes - piece * PATTERN_PIECE as u64;
        content.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        content.into()
    })
}

/// SHA-256, in hexadecimal, of the pattern body of `bytes` bytes.
pub fn pattern_sha256(bytes: u64) -> String {
    sha256_hex(pattern(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_its_length_and_never_repeats() {
        let pieces: Vec<Bytes> = pattern(3 * 65_536 + 5).collect();
        assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), 3 * 65_536 + 5);
        assert_ne!(pieces[0], pieces[1]);
    }
}
