//! What a started plugin writes, in our log.

use futures_util::StreamExt;
use tokio::io::AsyncRead;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// The longest line that is kept, bytes; a longer one is left out.
const LONGEST_LINE: usize = 4 << 10;

/// The lines that a process writes.
pub(crate) type Lines<R> = FramedRead<R, LinesCodec>;

pub(crate) fn lines<R: AsyncRead>(read: R) -> Lines<R> {
    FramedRead::new(read, LinesCodec::new_with_max_length(LONGEST_LINE))
}

/// The next line; `None` at the end. A line that is too long is empty.
pub(crate) async fn next<R: AsyncRead + Unpin>(lines: &mut Lines<R>) -> Option<String> {
    loop {
        return match lines.next().await? {
            Ok(line) => Some(clean(&line)),
            Err(LinesCodecError::MaxLineLengthExceeded) => Some(String::new()),
            // Bytes that are no text.
            Err(LinesCodecError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                continue;
            }
            Err(LinesCodecError::Io(_)) => None,
        };
    }
}

/// Logs every line until the last; `secret` never appears.
pub(crate) async fn log<R: AsyncRead + Unpin>(
    mut lines: Lines<R>,
    provider: String,
    secret: String,
) {
    while let Some(line) = next(&mut lines).await {
        let line = line.replace(&secret, "…");
        if !line.is_empty() {
            tracing::info!(provider, "{line}");
        }
    }
}

/// A line that cannot pretend to be another.
fn clean(line: &str) -> String {
    line.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .trim_end()
        .to_owned()
}
