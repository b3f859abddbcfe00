//! WebSocket frames (RFC 6455) as bytes.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sha1::{Digest, Sha1};

use super::Inbound;

const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// More than any test sends in one frame.
const MOST_PAYLOAD: u64 = 64 << 20;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// More of the message before.
    Continuation = 0,
    /// UTF-8 text.
    Text = 1,
    /// Bytes.
    Binary = 2,
    /// The end, with a code and a reason.
    Close = 8,
    /// A question whether the peer lives.
    Ping = 9,
    /// The answer to it.
    Pong = 10,
}

/// One frame, unmasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Whether its message ends with it.
    pub fin: bool,
    /// What it is.
    pub opcode: Opcode,
    /// What it carries.
    pub payload: Bytes,
}

/// The `sec-websocket-accept` that answers `key`.
pub fn accept_key(key: &str) -> String {
    let hash = Sha1::new()
        .chain_update(key.trim())
        .chain_update(KEY_SUFFIX)
        .finalize();
    STANDARD.encode(hash)
}

impl Frame {
    /// A whole message in one frame.
    pub fn new(opcode: Opcode, payload: impl Into<Bytes>) -> Self {
        Frame {
            fin: true,
            opcode,
            payload: payload.into(),
        }
    }

    /// A close frame with `code`.
    pub fn close(code: u16) -> Self {
        Frame::new(Opcode::Close, code.to_be_bytes().to_vec())
    }

    /// The code of a close frame that carries one.
    pub fn close_code(&self) -> Option<u16> {
        let code = self.payload.first_chunk::<2>()?;
        (self.opcode == Opcode::Close).then(|| u16::from_be_bytes(*code))
    }

    /// The frame on the wire; clients must give a `mask`, servers must not.
    pub fn encode(&self, mask: Option<[u8; 4]>) -> Vec<u8> {
        let mut out = vec![u8::from(self.fin) << 7 | self.opcode as u8];
        let masked = u8::from(mask.is_some()) << 7;
        match self.payload.len() {
            short @ 0..126 => out.push(masked | short as u8),
            medium @ 126..=0xffff => {
                out.push(masked | 126);
                out.extend_from_slice(&(medium as u16).to_be_bytes());
            }
            long => {
                out.push(masked | 127);
                out.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        out.extend(mask.into_iter().flatten());
        let key = mask.unwrap_or_default();
        out.extend(masked_with(&self.payload, key));
        out
    }

    /// The next frame; `None` when the peer ended between two.
    pub(crate) async fn read(inbound: &mut Inbound) -> io::Result<Option<Frame>> {
        if !inbound.has_unread() && inbound.fill().await? == 0 {
            return Ok(None);
        }
        let start = Start::read(inbound).await?;
        let whole = inbound.exactly(start.header + start.payload).await?;
        let key = match start.masked {
            true => array(&whole[start.header - 4..]),
            false => [0; 4],
        };
        let payload: Vec<u8> = masked_with(&whole[start.header..], key).collect();
        Ok(Some(Frame {
            fin: start.fin,
            opcode: start.opcode,
            payload: payload.into(),
        }))
    }
}

/// What the first bytes of a frame say.
struct Start {
    fin: bool,
    opcode: Opcode,
    masked: bool,
    /// Bytes before the payload.
    header: usize,
    /// Bytes of payload.
    payload: usize,
}

impl Start {
    async fn read(inbound: &mut Inbound) -> io::Result<Start> {
        let [first, second] = array(inbound.peek(2).await?);
        let extended = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let length = &inbound.peek(2 + extended).await?[2..];
        let payload = payload_length(second & 0x7f, length)?;
        let masked = second & 0x80 != 0;
        Ok(Start {
            fin: first & 0x80 != 0,
            opcode: Opcode::from_code(first & 0x0f)?,
            masked,
            header: 2 + extended + if masked { 4 } else { 0 },
            payload,
        })
    }
}

fn payload_length(short: u8, extended: &[u8]) -> io::Result<usize> {
    let length = match extended.len() {
        0 => u64::from(short),
        2 => u64::from(u16::from_be_bytes(array(extended))),
        _ => u64::from_be_bytes(array(extended)),
    };
    match length {
        0..=MOST_PAYLOAD => Ok(length as usize),
        _ => Err(malformed("frame size")),
    }
}

fn masked_with(payload: &[u8], key: [u8; 4]) -> impl Iterator<Item = u8> + '_ {
    payload
        .iter()
        .zip(key.into_iter().cycle())
        .map(|(b, k)| b ^ k)
}

/// The first `N` bytes; callers have made sure that there are so many.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

impl Opcode {
    const ALL: [Opcode; 6] = [
        Opcode::Continuation,
        Opcode::Text,
        Opcode::Binary,
        Opcode::Close,
        Opcode::Ping,
        Opcode::Pong,
    ];

    fn from_code(code: u8) -> io::Result<Self> {
        let known = Opcode::ALL.into_iter().find(|known| *known as u8 == code);
        known.ok_or_else(|| malformed("frame opcode"))
    }
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_key_of_the_standard() {
        // RFC 6455, section 1.3.
        let accept = accept_key("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn the_masked_hello_of_the_standard() {
        // RFC 6455, section 5.7.
        let frame = Frame::new(Opcode::Text, "Hello");
        let bytes = frame.encode(Some([0x37, 0xfa, 0x21, 0x3d]));
        assert_eq!(
            bytes,
            [
                0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58
            ]
        );
    }

    #[test]
    fn the_length_takes_as_many_bytes_as_it_needs() {
        let header = |n: usize| Frame::new(Opcode::Binary, vec![0; n]).encode(None).len() - n;
        assert_eq!([125, 126, 65_535, 65_536].map(header), [2, 4, 4, 10]);
    }

    #[test]
    fn a_close_carries_its_code() {
        assert_eq!(Frame::close(1001).close_code(), Some(1001));
        assert_eq!(Frame::new(Opcode::Text, "ab").close_code(), None);
    }
}
