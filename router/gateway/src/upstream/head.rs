use std::mem::MaybeUninit;

use bytes::{Buf, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::Decoder;
use super::exchange::ExchangeError;

const MOST_HEADERS: usize = 128;
const LARGEST_HEAD: usize = 64 * 1024;

/// The head of a backend's response.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Whether the connection may carry another request afterwards.
    pub(crate) keep_alive: bool,
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
        let mut headers = HeaderMap::with_capacity(response.headers.len() + 8);
        for header in response.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes());
            let value = HeaderValue::from_bytes(header.value);
            let (Ok(name), Ok(value)) = (name, value) else {
                return Err(ExchangeError::Malformed);
            };
            headers.append(name, value);
        }
        let keep_alive = keeps_alive(response.version == Some(1), &headers);
        buf.advance(length);
        Ok(Some(ResponseHead {
            status,
            headers,
            keep_alive,
        }))
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
        if let Some(coding) = self.headers.get(TRANSFER_ENCODING) {
            // With a length beside it, somebody on the way reads another body than we.
            let chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked")
                && !self.headers.contains_key(CONTENT_LENGTH)
                && self.headers.get_all(TRANSFER_ENCODING).iter().count() == 1;
            return match chunked {
                true => Ok(Decoder::chunked()),
                false => Err(ExchangeError::Malformed),
            };
        }
        Ok(match self.content_length()? {
            Some(0) => Decoder::Empty,
            Some(length) => Decoder::Length(length),
            None => Decoder::UntilClose,
        })
    }

    fn content_length(&self) -> Result<Option<u64>, ExchangeError> {
        let mut lengths = self.headers.get_all(CONTENT_LENGTH).iter();
        let Some(first) = lengths.next() else {
            return Ok(None);
        };
        if lengths.any(|other| other != first) {
            return Err(ExchangeError::Malformed);
        }
        decimal(first.as_bytes())
            .map(Some)
            .ok_or(ExchangeError::Malformed)
    }
}

fn keeps_alive(http11: bool, headers: &HeaderMap) -> bool {
    let says = |token: &str| {
        headers.get_all(CONNECTION).iter().any(|value| {
            let tokens = value.to_str().unwrap_or_default().split(',');
            tokens.map(str::trim).any(|t| t.eq_ignore_ascii_case(token))
        })
    };
    if http11 {
        !says("close")
    } else {
        says("keep-alive")
    }
}

/// Digits and nothing else.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
