use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::exchange::ExchangeError;

/// Chunks up to this size are copied together into one piece, so that a burst
/// of small events leaves in few writes; larger ones are passed on as they are.
const SMALL_CHUNK: u64 = 4 * 1024;
const LARGEST_TRAILERS: usize = 16 * 1024;

/// How a response's body ends, and how far it is.
#[derive(Debug)]
pub(crate) enum Decoder {
    Empty,
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

#[derive(Debug)]
pub(crate) enum Chunk {
    Size,
    Data(u64),
    DataEnd,
    Trailers,
    Done,
}

/// What was made of the bytes at hand.
#[derive(Debug)]
pub(crate) enum Decoded {
    Data(Bytes),
    Trailers(HeaderMap),
    /// The body is complete.
    End,
    /// More bytes are needed.
    More,
}

impl Decoder {
    pub(crate) fn chunked() -> Self {
        Decoder::Chunked(Chunk::Size)
    }

    /// The exact length of what is left, where it is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        match self {
            Decoder::Empty => Some(0),
            Decoder::Length(left) => Some(*left),
            Decoder::Chunked(_) | Decoder::UntilClose => None,
        }
    }

    /// Takes what it can off `buf`.
    pub(crate) fn decode(&mut self, buf: &mut BytesMut) -> Result<Decoded, ExchangeError> {
        match self {
            Decoder::Empty | Decoder::Length(0) => Ok(Decoded::End),
            _ if buf.is_empty() => Ok(Decoded::More),
            Decoder::Length(left) => {
                let n = (*left).min(buf.len() as u64);
                *left -= n;
                Ok(Decoded::Data(buf.split_to(n as usize).freeze()))
            }
            Decoder::UntilClose => Ok(Decoded::Data(buf.split().freeze())),
            Decoder::Chunked(chunk) => chunk.decode(buf),
        }
    }

    /// Whether the backend may close here.
    pub(crate) fn may_end(&self) -> bool {
        match self {
            Decoder::Empty | Decoder::Length(0) | Decoder::UntilClose => true,
            Decoder::Chunked(chunk) => matches!(chunk, Chunk::Done),
            Decoder::Length(_) => false,
        }
    }
}

impl Chunk {
    fn decode(&mut self, buf: &mut BytesMut) -> Result<Decoded, ExchangeError> {
        let mut gathered = BytesMut::new();
        loop {
            match self {
                Chunk::Size => match size_line(buf)? {
                    None => return Ok(gathered_or_more(gathered)),
                    Some(0) => *self = Chunk::Trailers,
                    Some(size) => *self = Chunk::Data(size),
                },
                Chunk::Data(left) if buf.is_empty() => {
                    debug_assert!(*left > 0);
                    return Ok(gathered_or_more(gathered));
                }
                Chunk::Data(left) => {
                    let n = (*left).min(buf.len() as u64);
                    if n > SMALL_CHUNK && !gathered.is_empty() {
                        return Ok(Decoded::Data(gathered.freeze()));
                    }
                    let data = buf.split_to(n as usize);
                    *left -= n;
                    if *left == 0 {
                        *self = Chunk::DataEnd;
                    }
                    if n > SMALL_CHUNK {
                        return Ok(Decoded::Data(data.freeze()));
                    }
                    gathered.extend_from_slice(&data);
                }
                Chunk::DataEnd => match line_end(buf)? {
                    true => *self = Chunk::Size,
                    false => return Ok(gathered_or_more(gathered)),
                },
                Chunk::Trailers if !gathered.is_empty() => {
                    return Ok(Decoded::Data(gathered.freeze()));
                }
                Chunk::Trailers => return self.trailers(buf),
                Chunk::Done => return Ok(Decoded::End),
            }
        }
    }

    fn trailers(&mut self, buf: &mut BytesMut) -> Result<Decoded, ExchangeError> {
        if buf.starts_with(b"\r\n") {
            buf.advance(2);
            *self = Chunk::Done;
            return Ok(Decoded::End);
        }
        let mut slots = [httparse::EMPTY_HEADER; 32];
        match httparse::parse_headers(buf, &mut slots) {
            Ok(httparse::Status::Complete((length, headers))) => {
                let trailers = trailer_map(headers)?;
                buf.advance(length);
                *self = Chunk::Done;
                Ok(Decoded::Trailers(trailers))
            }
            Ok(httparse::Status::Partial) if buf.len() <= LARGEST_TRAILERS => Ok(Decoded::More),
            _ => Err(ExchangeError::Malformed),
        }
    }
}

fn gathered_or_more(gathered: BytesMut) -> Decoded {
    match gathered.is_empty() {
        true => Decoded::More,
        false => Decoded::Data(gathered.freeze()),
    }
}

fn size_line(buf: &mut BytesMut) -> Result<Option<u64>, ExchangeError> {
    const LONGEST_LINE: usize = 4 * 1024;
    match httparse::parse_chunk_size(buf) {
        Ok(httparse::Status::Complete((length, size))) => {
            buf.advance(length);
            Ok(Some(size))
        }
        Ok(httparse::Status::Partial) if buf.len() <= LONGEST_LINE => Ok(None),
        _ => Err(ExchangeError::Malformed),
    }
}

fn line_end(buf: &mut BytesMut) -> Result<bool, ExchangeError> {
    if buf.len() < 2 {
        return Ok(false);
    }
    if !buf.starts_with(b"\r\n") {
        return Err(ExchangeError::Malformed);
    }
    buf.advance(2);
    Ok(true)
}

fn trailer_map(headers: &[httparse::Header<'_>]) -> Result<HeaderMap, ExchangeError> {
    headers
        .iter()
        .map(|header| {
            let name = HeaderName::from_bytes(header.name.as_bytes());
            let value = HeaderValue::from_bytes(header.value);
            match (name, value) {
                (Ok(name), Ok(value)) => Ok((name, value)),
                _ => Err(ExchangeError::Malformed),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything decoded from `parts`, fed one after the other.
    fn body(parts: &[&[u8]]) -> Result<(Vec<u8>, Option<HeaderMap>, bool), ExchangeError> {
        let mut decoder = Decoder::chunked();
        let (mut buf, mut out, mut trailers) = (BytesMut::new(), Vec::new(), None);
        for part in parts {
            buf.extend_from_slice(part);
            loop {
                match decoder.decode(&mut buf)? {
                    Decoded::Data(data) => out.extend_from_slice(&data),
                    Decoded::Trailers(map) => trailers = Some(map),
                    Decoded::End => return Ok((out, trailers, true)),
                    Decoded::More => break,
                }
            }
        }
        Ok((out, trailers, decoder.may_end()))
    }

    #[test]
    fn chunks_are_read_wherever_they_are_cut() {
        let whole = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx-sum: 11\r\n\r\n";
        for cut in 0..whole.len() {
            let (data, trailers, ended) = body(&[&whole[..cut], &whole[cut..]]).unwrap();
            assert_eq!(data, b"hello world", "cut at {cut}");
            assert!(ended && trailers.unwrap()["x-sum"] == "11");
        }
    }

    #[test]
    fn many_small_chunks_become_one_piece() {
        let mut buf = BytesMut::from(&b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n"[..]);
        let Decoded::Data(data) = Decoder::chunked().decode(&mut buf).unwrap() else {
            panic!()
        };
        assert_eq!(data, "abc");
    }

    #[test]
    fn b12_a_body_without_its_end_has_not_ended() {
        let (_, _, ended) = body(&[b"5\r\nhello\r\n"]).unwrap();
        assert!(!ended);
        assert!(!Decoder::Length(600).may_end());
    }

    #[test]
    fn nonsense_is_malformed() {
        for bad in [
            &b"zz\r\n"[..],
            b"5\r\nhelloXX",
            b"-1\r\n",
            b"fffffffffffffffff\r\n",
        ] {
            assert!(body(&[bad]).is_err(), "{bad:?}");
        }
    }
}
