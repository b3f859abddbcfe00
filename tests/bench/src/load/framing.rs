//! Where an answer's body ends.

use super::chunked::Chunked;
use super::connection::says;
use super::fault::Fault;
use super::receipt::Receipt;

/// What is still to come of a body.
pub(crate) enum Framing {
    Length(u64),
    Chunked(Chunked),
}

impl Framing {
    pub(crate) const EMPTY: Framing = Framing::Length(0);

    /// What the headers say; a body that only closing would end is refused.
    pub(crate) fn of(headers: &[httparse::Header<'_>]) -> Result<Framing, Fault> {
        if says(headers, "transfer-encoding", "chunked") {
            return Ok(Framing::Chunked(Chunked::default()));
        }
        let length = headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-length"));
        let digits = length.and_then(|header| std::str::from_utf8(header.value).ok());
        digits
            .and_then(|text| text.parse().ok())
            .map(Framing::Length)
            .ok_or(Fault::Malformed)
    }

    /// Passes on what belongs to the body; says how many bytes were used.
    pub(crate) fn feed(&mut self, input: &[u8], receipt: &mut Receipt) -> Result<usize, Fault> {
        match self {
            Framing::Chunked(chunked) => chunked.feed(input, receipt),
            Framing::Length(left) => {
                let used = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                receipt.take(&input[..used]);
                *left -= used as u64;
                Ok(used)
            }
        }
    }

    /// Whether the body has come to its end.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Framing::Length(left) => *left == 0,
            Framing::Chunked(chunked) => chunked.is_complete(),
        }
    }
}
