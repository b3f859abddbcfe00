//! Reads an event stream and how late each event came.

use crate::time;

const STAMP: &[u8] = br#"data: {"sent":"#;
const END: &[u8] = b"\n\n";

/// The events of one stream so far.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    /// The begin of an event whose end has not come.
    partial: Vec<u8>,
    lateness: Vec<u64>,
    malformed: bool,
}

impl EventReader {
    /// Takes the next part of the stream, which arrived now.
    pub(crate) fn take(&mut self, part: &[u8]) {
        self.take_at(part, time::epoch_nanos());
    }

    fn take_at(&mut self, part: &[u8], now: u64) {
        if self.partial.is_empty() {
            let used = self.events(part, now);
            self.partial.extend_from_slice(&part[used..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(part);
            let used = self.events(&joined, now);
            joined.drain(..used);
            self.partial = joined;
        }
    }

    /// Counts the whole events in `input` and says how many bytes they had.
    fn events(&mut self, input: &[u8], now: u64) -> usize {
        let mut used = 0;
        while let Some(length) = input[used..]
            .windows(END.len())
            .position(|pair| pair == END)
        {
            match stamp(&input[used..used + length]) {
                Some(sent) => self.lateness.push(now.saturating_sub(sent)),
                None => self.malformed = true,
            }
            used += length + END.len();
        }
        used
    }

    /// Whether exactly `count` good events came and nothing else.
    pub(crate) fn is_whole(&self, count: u64) -> bool {
        self.lateness.len() as u64 == count && self.partial.is_empty() && !self.malformed
    }

    /// How late each event came, nanoseconds.
    pub(crate) fn lateness(&self) -> &[u64] {
        &self.lateness
    }
}

/// When the backend wrote an event, nanoseconds since 1970.
fn stamp(event: &[u8]) -> Option<u64> {
    let rest = event.strip_prefix(STAMP)?;
    let digits = rest.split(|byte| *byte == b',').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b"data: {\"sent\":100,\"index\":0}\n\ndata: {\"sent\":150,\"index\":1}\n\n";

    #[test]
    fn events_may_be_cut_anywhere() {
        for at in 0..=STREAM.len() {
            let mut reader = EventReader::default();
            reader.take_at(&STREAM[..at], 200);
            reader.take_at(&STREAM[at..], 200);
            assert!(reader.is_whole(2), "cut at {at}");
            assert_eq!(reader.lateness(), [100, 50]);
        }
    }

    #[test]
    fn a_missing_half_or_a_foreign_event_shows() {
        let mut half = EventReader::default();
        half.take_at(&STREAM[..STREAM.len() - 1], 200);
        assert!(!half.is_whole(2) && !half.is_whole(1));
        let mut foreign = EventReader::default();
        foreign.take_at(b"data: hello\n\n", 200);
        assert!(!foreign.is_whole(0) && !foreign.is_whole(1));
    }
}
