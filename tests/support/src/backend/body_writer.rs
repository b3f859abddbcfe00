use std::io;

use bytes::Bytes;

use super::Cut;
use super::log::Visit;
use crate::http1::{Framing, Headers, Outbound};

/// Why a response ended before its time.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The peer does not listen any more.
    PeerLeft,
    /// The script says so.
    Cut(Cut),
}

impl From<io::Error> for Stopped {
    fn from(_: io::Error) -> Self {
        Stopped::PeerLeft
    }
}

/// Sends one response's body in its framing.
#[derive(Debug)]
pub(super) struct BodyWriter<'a> {
    pub(super) out: &'a mut Outbound,
    pub(super) visit: &'a Visit,
    pub(super) framing: Framing,
    /// Bytes of the body that may be sent before it is cut.
    pub(super) cut_after: Option<(u64, Cut)>,
    pub(super) sent: u64,
}

impl BodyWriter<'_> {
    /// Sends `piece`, or as much of it as comes before the cut.
    pub(super) async fn piece(&mut self, piece: &Bytes) -> Result<(), Stopped> {
        let Some((limit, how)) = self.cut_after else {
            return self.whole(piece).await;
        };
        let left = limit.saturating_sub(self.sent);
        if piece.len() as u64 <= left {
            return self.whole(piece).await;
        }
        self.whole(&piece.slice(..left as usize)).await?;
        Err(Stopped::Cut(how))
    }

    /// Ends the body as its framing wants, unless it is to be cut or shorter
    /// than it was declared.
    pub(super) async fn finish(self, trailers: &Headers) -> Result<(), Stopped> {
        if let Some((_, how)) = self.cut_after {
            return Err(Stopped::Cut(how));
        }
        if matches!(self.framing, Framing::Length(declared) if self.sent < declared) {
            return Err(Stopped::Cut(Cut::Close));
        }
        self.visit.leave();
        if self.framing == Framing::Chunked {
            let mut end = b"0\r\n".to_vec();
            trailers.write_to(&mut end);
            end.extend_from_slice(b"\r\n");
            self.out.write(&end).await?;
        }
        Ok(())
    }

    async fn whole(&mut self, piece: &Bytes) -> Result<(), Stopped> {
        if piece.is_empty() || self.framing == Framing::Empty {
            return Ok(());
        }
        self.sent += piece.len() as u64;
        if self.framing == Framing::Length(self.sent) {
            self.visit.leave();
        }
        self.out.write(&self.framed(piece)).await?;
        self.visit.wrote(piece);
        Ok(())
    }

    fn framed(&self, piece: &Bytes) -> Bytes {
        if self.framing != Framing::Chunked {
            return piece.clone();
        }
        let size = format!("{:x}\r\n", piece.len());
        [size.as_bytes(), piece, b"\r\n"].concat().into()
    }
}
