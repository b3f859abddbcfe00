//! What a started plugin writes, in our log.

use std::io::ErrorKind;
use std::time::Duration;

use futures_util::StreamExt;
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use thermocline_policy::fleet::Bucket;
use tokio::io::AsyncRead;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// The longest line that is kept, bytes; a longer one is left out.
const LONGEST_LINE: usize = 4 << 10;

/// Lines that may come at once, and how soon there is room for one more.
const BURST: u32 = 200;
const EVERY: Duration = Duration::from_millis(50);
/// How often it is told at most that lines were left out.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// The lines that a process writes.
pub(crate) type Lines<R> = FramedRead<R, LinesCodec>;

pub(crate) fn lines<R: AsyncRead>(read: R) -> Lines<R> {
    FramedRead::new(read, LinesCodec::new_with_max_length(LONGEST_LINE))
}

/// The next line; `None` at the end. A line that is too long is empty, bytes that
/// are no text are left out.
pub(crate) async fn next<R: AsyncRead + Unpin>(lines: &mut Lines<R>) -> Option<String> {
    loop {
        let too_long = match lines.next().await? {
            Ok(line) => return Some(clean(&line)),
            Err(LinesCodecError::MaxLineLengthExceeded) => true,
            Err(LinesCodecError::Io(error)) if error.kind() == ErrorKind::InvalidData => false,
            Err(LinesCodecError::Io(_)) => return None,
        };
        // After an error the stream pretends once to be over, and goes on.
        let _pretended = lines.next().await;
        if too_long {
            return Some(String::new());
        }
    }
}

/// Logs the lines until the last, as many as a log bears; `secret` never appears.
pub(crate) async fn log<R: AsyncRead + Unpin>(
    mut lines: Lines<R>,
    provider: String,
    secret: String,
    clock: Clock,
) {
    let mut tap = Tap::new();
    while let Some(line) = next(&mut lines).await {
        let Some(left_out) = tap.pass(clock.now()) else {
            continue;
        };
        if left_out > 0 {
            tracing::warn!(provider, left_out, "it wrote more lines than are kept");
        }
        if !line.is_empty() {
            tracing::info!(provider, "{}", line.replace(&secret, "…"));
        }
    }
}

/// Lets pass what a log bears.
struct Tap {
    bucket: Bucket,
    left_out: u64,
    /// Not before then is it told again how many were left out.
    tell_at: Moment,
}

impl Tap {
    fn new() -> Self {
        Tap {
            bucket: Bucket::new(EVERY, BURST),
            left_out: 0,
            tell_at: Moment::ORIGIN,
        }
    }

    /// How many lines were left out before the one that comes at `now`, where that
    /// is to be told now; `None` when it is left out too.
    fn pass(&mut self, now: Moment) -> Option<u64> {
        if self.bucket.take(now).is_err() {
            self.left_out += 1;
            return None;
        }
        if self.left_out == 0 || now < self.tell_at {
            return Some(0);
        }
        self.tell_at = now + TELL_EVERY;
        Some(std::mem::take(&mut self.left_out))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that stopped there would close the pipe, and end who writes to it.
    #[tokio::test]
    async fn a_line_without_end_and_bytes_without_sense_end_nothing() {
        let mut written = vec![b'x'; 3 * LONGEST_LINE];
        written.extend(b"\nafter\n\xff\xfe\xc3(\nand after\n");
        let mut lines = lines(written.as_slice());
        let mut read = Vec::new();
        while let Some(line) = next(&mut lines).await {
            read.push(line);
        }
        assert_eq!(read, ["", "after", "and after"]);
    }

    #[test]
    fn a_flood_is_cut_and_counted_and_a_word_now_and_then_is_not() {
        let at = |millis| Moment::from_origin(Duration::from_millis(millis));
        let mut tap = Tap::new();
        let passed = (0..10_000)
            .filter(|_| tap.pass(at(1_000)).is_some())
            .count();
        assert_eq!(passed, BURST as usize);
        assert_eq!(tap.pass(at(1_050)), Some(10_000 - u64::from(BURST)));
        let mut talk = (0..10_000).map(|turn| tap.pass(at(20_000 + turn * 50)));
        assert!(talk.all(|left_out| left_out == Some(0)));
    }
}
