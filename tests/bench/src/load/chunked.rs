//! The chunked transfer coding (RFC 9112 §7.1), read as it arrives.

use super::fault::Fault;
use super::receipt::Receipt;

/// Where in the coding the next byte lies.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Chunked {
    /// The hexadecimal digits, none seen yet.
    #[default]
    Begin,
    Size(u64),
    /// After the digits, up to the line's end.
    SizeLine(u64),
    Data(u64),
    /// The line break after a chunk's data.
    DataEnd,
    /// Trailers; the flag says whether the line has something on it.
    Trailer(bool),
    Complete,
}

/// A chunk may have up to 2^56 bytes, which no one sends.
const LARGEST: u64 = 1 << 56;

impl Chunked {
    /// Passes on the data among `input`; says how many bytes were used.
    pub(crate) fn feed(&mut self, input: &[u8], receipt: &mut Receipt) -> Result<usize, Fault> {
        let mut at = 0;
        while at < input.len() && *self != Chunked::Complete {
            at += match self {
                Chunked::Data(left) => {
                    let part = &input[at..];
                    let length =
                        usize::try_from(*left).map_or(part.len(), |left| left.min(part.len()));
                    receipt.take(&part[..length]);
                    *self = after_data(*left - length as u64);
                    length
                }
                _ => {
                    *self = self.step(input[at])?;
                    1
                }
            };
        }
        Ok(at)
    }

    /// Whether the last chunk and the trailers have been read.
    pub(crate) fn is_complete(&self) -> bool {
        *self == Chunked::Complete
    }

    /// The state after one byte that is no data.
    fn step(&self, byte: u8) -> Result<Chunked, Fault> {
        Ok(match (self, byte) {
            (Chunked::Size(size) | Chunked::SizeLine(size), b'\n') => after_size(*size),
            (Chunked::Size(size), b'\r' | b';' | b' ') => Chunked::SizeLine(*size),
            (Chunked::SizeLine(size), _) => Chunked::SizeLine(*size),
            (Chunked::Begin, _) => Chunked::Size(digit(byte)?),
            (Chunked::Size(size), _) if *size < LARGEST => Chunked::Size(size * 16 + digit(byte)?),
            (Chunked::DataEnd, b'\r') => Chunked::DataEnd,
            (Chunked::DataEnd, b'\n') => Chunked::Begin,
            (Chunked::Trailer(false), b'\n') => Chunked::Complete,
            (Chunked::Trailer(_), b'\n') => Chunked::Trailer(false),
            (Chunked::Trailer(some), b'\r') => Chunked::Trailer(*some),
            (Chunked::Trailer(_), _) => Chunked::Trailer(true),
            _ => return Err(Fault::Malformed),
        })
    }
}

fn after_size(size: u64) -> Chunked {
    if size == 0 {
        Chunked::Trailer(false)
    } else {
        Chunked::Data(size)
    }
}

fn after_data(left: u64) -> Chunked {
    if left == 0 {
        Chunked::DataEnd
    } else {
        Chunked::Data(left)
    }
}

fn digit(byte: u8) -> Result<u64, Fault> {
    char::from(byte)
        .to_digit(16)
        .map(u64::from)
        .ok_or(Fault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    const CODED: &[u8] = b"5\r\nhello\r\nA;x=\"y\"\r\n, it is me\r\n0\r\nx-sum: 1\r\n\r\nHTTP";

    fn decode(parts: &[&[u8]]) -> Result<(String, usize, bool), Fault> {
        let (mut chunked, mut receipt) = (Chunked::default(), Receipt::new(Kind::Post(0)));
        let mut used = 0;
        for part in parts {
            used += chunked.feed(part, &mut receipt)?;
        }
        Ok((receipt.text(), used, chunked.is_complete()))
    }

    #[test]
    fn data_is_passed_on_and_what_follows_is_left() {
        let whole = decode(&[CODED]).unwrap();
        assert_eq!(whole, ("hello, it is me".to_owned(), CODED.len() - 4, true));
    }

    #[test]
    fn it_may_be_cut_anywhere() {
        for at in 0..CODED.len() {
            let (front, back) = CODED.split_at(at);
            assert_eq!(decode(&[front, back]), decode(&[CODED]), "cut at {at}");
        }
    }

    #[test]
    fn an_unfinished_body_is_not_complete() {
        assert!(!decode(&[b"5\r\nhello\r\n0\r\n"]).unwrap().2);
    }

    #[test]
    fn what_is_no_coding_is_refused() {
        for broken in [
            &b"\r\n"[..],
            b"xyz\r\n",
            b"2\r\nabc\r\n",
            b"fffffffffffffffff\r\n",
        ] {
            assert_eq!(decode(&[broken]), Err(Fault::Malformed));
        }
    }
}
