//! Where a server's WebSocket frames begin and end, so that a close frame of
//! ours never lands inside one (RFC 6455 §5.2).

/// The close frame that says "going away" (1001).
pub(crate) const GOING_AWAY: [u8; 4] = [0x88, 0x02, 0x03, 0xe9];

/// Follows the frames of one direction.
#[derive(Debug, Default)]
pub(crate) struct FrameTracker {
    header: Vec<u8>,
    payload: u64,
}

impl FrameTracker {
    /// Follows `bytes`.
    pub(crate) fn observe(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.payload > 0 {
                let n = self.payload.min(bytes.len() as u64);
                self.payload -= n;
                bytes = &bytes[n as usize..];
                continue;
            }
            self.header.push(bytes[0]);
            bytes = &bytes[1..];
            if let Some(payload) = payload_length(&self.header) {
                self.payload = payload;
                self.header.clear();
            }
        }
    }

    /// Whether a new frame may begin here.
    pub(crate) fn at_boundary(&self) -> bool {
        self.header.is_empty() && self.payload == 0
    }
}

/// The payload's length, once the header is whole.
fn payload_length(header: &[u8]) -> Option<u64> {
    let second = *header.get(1)?;
    let mask = if second & 0x80 != 0 { 4 } else { 0 };
    let (extra, length) = match second & 0x7f {
        126 => (
            2,
            u64::from(u16::from_be_bytes(*header.get(2..)?.first_chunk()?)),
        ),
        127 => (8, u64::from_be_bytes(*header.get(2..)?.first_chunk()?)),
        short => (0, u64::from(short)),
    };
    (header.len() == 2 + extra + mask).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_length_are_followed_wherever_they_are_cut() {
        let mut stream = vec![0x81, 0x03, b'a', b'b', b'c'];
        stream.extend([0x82, 126, 0x01, 0x00]);
        stream.extend([7; 256]);
        stream.extend([0x82, 127, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2]);
        stream.extend([0x89, 0x80, 1, 2, 3, 4]);
        let boundaries: Vec<usize> = vec![0, 5, 265, 277, 283];
        for cut in 0..=stream.len() {
            let mut tracker = FrameTracker::default();
            tracker.observe(&stream[..cut]);
            assert_eq!(
                tracker.at_boundary(),
                boundaries.contains(&cut),
                "cut at {cut}"
            );
            tracker.observe(&stream[cut..]);
            assert!(tracker.at_boundary());
        }
    }
}
