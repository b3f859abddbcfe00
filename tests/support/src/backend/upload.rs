use std::io;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use thermocline_clock::Clock;

use super::log::Visit;
use crate::http1::{BodyReader, Framing, Inbound, Outbound, RequestHead, hex};

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Takes in one request's body, counted and hashed.
#[derive(Debug)]
pub(super) struct Upload {
    body: BodyReader,
    hash: Option<Sha256>,
    /// Whether the client still waits to be told to go on.
    awaited: bool,
    pace: Option<Pace>,
}

#[derive(Debug)]
struct Pace {
    clock: Clock,
    bytes_per_second: u64,
}

impl Pace {
    async fn pause_after(&self, bytes: usize) {
        let share = bytes as f64 / self.bytes_per_second.max(1) as f64;
        self.clock.sleep(Duration::from_secs_f64(share)).await;
    }
}

impl Upload {
    pub(super) fn of(head: &RequestHead, continues: bool) -> Self {
        Upload {
            body: BodyReader::new(Framing::of_request(head)),
            hash: Some(Sha256::new()),
            awaited: continues && head.expects_continue(),
            pace: None,
        }
    }

    /// Sends the `100 Continue` that the client waits for, once.
    pub(super) async fn invite(&mut self, out: &mut Outbound, visit: &Visit) -> io::Result<()> {
        if std::mem::take(&mut self.awaited) && !self.body.is_done() {
            out.write(CONTINUE).await?;
            visit.continued();
        }
        Ok(())
    }

    /// The next piece; `None` at the end.
    pub(super) async fn piece(
        &mut self,
        inbound: &mut Inbound,
        visit: &Visit,
    ) -> io::Result<Option<Bytes>> {
        let piece = self.body.piece(inbound).await?;
        match &piece {
            Some(piece) => self.took(piece, visit),
            None => self.ended(visit),
        }
        Ok(piece)
    }

    /// Everything up to the end.
    pub(super) async fn drain(&mut self, inbound: &mut Inbound, visit: &Visit) -> io::Result<()> {
        while let Some(piece) = self.piece(inbound, visit).await? {
            if let Some(pace) = &self.pace {
                pace.pause_after(piece.len()).await;
            }
        }
        Ok(())
    }

    /// Reads at most `bytes_per_second` from now on.
    pub(super) fn set_pace(&mut self, clock: &Clock, bytes_per_second: u64) {
        self.pace = Some(Pace {
            clock: clock.clone(),
            bytes_per_second,
        });
    }

    fn took(&mut self, piece: &Bytes, visit: &Visit) {
        visit.body_piece(piece.len());
        if let Some(hash) = &mut self.hash {
            hash.update(piece);
        }
    }

    fn ended(&mut self, visit: &Visit) {
        if let Some(hash) = self.hash.take() {
            visit.body_ended(hex(&hash.finalize()), self.body.trailers().clone());
        }
    }
}
