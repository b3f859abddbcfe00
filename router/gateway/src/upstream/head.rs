use std::mem::MaybeUninit;

use bytes::{Buf, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use thermocline_policy::VOUCHER_HEADER;

use super::Decoder;
use super::exchange::ExchangeError;
use crate::forwarded::is_hop_by_hop;
use crate::guard::tokens;

const MOST_HEADERS: usize = 128;
const LARGEST_HEAD: usize = 64 * 1024;

/// The head of a backend's response.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: StatusCode,
    /// What goes on to the client: nothing of the backend's connection.
    pub(crate) headers: HeaderMap,
    /// Whether the connection may carry another request afterwards.
    pub(crate) keep_alive: bool,
    /// The protocol that it switches to.
    pub(crate) upgrade: Option<HeaderValue>,
    /// How its body is framed, where a header says so.
    framing: Option<ResponseFraming>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseFraming {
    Length(u64),
    Chunked,
    /// It can be read in two ways, or in none.
    Unclear,
}

impl ResponseHead {
    /// Takes a head off `buf`; `None` = more is needed.
    pub(crate) fn parse(buf: &mut BytesMut) -> Result<Option<Self>, ExchangeError> {
        let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut response, buf, &mut slots)
            .map_err(|_| ExchangeError::Malformed)?;
        let httparse::Status::Complete(length) = parsed else {
            return match buf.len() > LARGEST_HEAD {
                true => Err(ExchangeError::Malformed),
                false => Ok(None),
            };
        };
        let code = response.code.unwrap_or_default();
        let status = StatusCode::from_u16(code).map_err(|_| ExchangeError::Malformed)?;
        let http11 = response.version == Some(1);
        let mut head = ResponseHead {
            status,
            headers: HeaderMap::with_capacity(response.headers.len() + 8),
            keep_alive: http11,
            upgrade: None,
            framing: None,
        };
        let mut connection = Vec::new();
        for header in response.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes());
            let value = HeaderValue::from_bytes(header.value);
            let (Ok(name), Ok(value)) = (name, value) else {
                return Err(ExchangeError::Malformed);
            };
            match name == CONNECTION {
                true => connection.push(value),
                false => head.take(name, value),
            }
        }
        head.connect(http11, &connection);
        buf.advance(length);
        Ok(Some(head))
    }

    /// Takes the voucher off that only we can know; whether it is there.
    pub(crate) fn take_voucher(&mut self, voucher: &HeaderValue) -> bool {
        let said = self.headers.remove(VOUCHER_HEADER);
        said.is_some_and(|said| said == voucher)
    }

    /// Takes one line, in order.
    fn take(&mut self, name: HeaderName, value: HeaderValue) {
        if name == CONTENT_LENGTH {
            let length = decimal(value.as_bytes());
            let framing = length.map_or(ResponseFraming::Unclear, ResponseFraming::Length);
            let same = self.framing.is_none_or(|before| before == framing);
            self.framing = Some(if same {
                framing
            } else {
                ResponseFraming::Unclear
            });
        } else if name == TRANSFER_ENCODING {
            // Twice, or with a length beside it: somebody on the way reads another body than we.
            let alone = self.framing.is_none() && value.as_bytes().eq_ignore_ascii_case(b"chunked");
            self.framing = Some(if alone {
                ResponseFraming::Chunked
            } else {
                ResponseFraming::Unclear
            });
            return;
        } else if name == UPGRADE {
            self.upgrade = Some(value);
            return;
        } else if is_hop_by_hop(&name) {
            return;
        }
        self.headers.append(name, value);
    }

    /// Obeys what `Connection` says.
    fn connect(&mut self, http11: bool, lines: &[HeaderValue]) {
        let says = |token: &str| {
            let mut named = lines.iter().flat_map(tokens);
            named.any(|t| t.eq_ignore_ascii_case(token))
        };
        self.keep_alive = match http11 {
            true => !says("close"),
            false => says("keep-alive"),
        };
        if !says("upgrade") {
            self.upgrade = None;
        }
        for token in lines.iter().flat_map(tokens) {
            self.headers.remove(token);
        }
    }

    /// How its body ends (RFC 9112 §6.3).
    pub(crate) fn decoder(&self, method: &Method) -> Result<Decoder, ExchangeError> {
        let bodyless = *method == Method::HEAD
            || self.status.is_informational()
            || matches!(
                self.status,
                StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
            );
        if bodyless {
            return Ok(Decoder::Empty);
        }
        Ok(match self.framing {
            Some(ResponseFraming::Unclear) => return Err(ExchangeError::Malformed),
            Some(ResponseFraming::Chunked) => Decoder::chunked(),
            Some(ResponseFraming::Length(0)) => Decoder::Empty,
            Some(ResponseFraming::Length(length)) => Decoder::Length(length),
            None => Decoder::UntilClose,
        })
    }
}

/// Digits and nothing else.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
