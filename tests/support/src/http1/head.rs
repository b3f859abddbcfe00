use std::io;

use super::{Headers, Parsed};

/// More fields than any test sends.
const MOST_FIELDS: usize = 256;

/// The head of a request as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method.
    pub method: String,
    /// The request target: path and query.
    pub target: String,
    /// `1` for HTTP/1.1, `0` for HTTP/1.0.
    pub minor: u8,
    /// The fields.
    pub headers: Headers,
}

/// The head of a response as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The reason phrase, possibly empty.
    pub reason: String,
    /// `1` for HTTP/1.1, `0` for HTTP/1.0.
    pub minor: u8,
    /// The fields.
    pub headers: Headers,
}

impl RequestHead {
    /// The head at the front of `bytes`; `None` while it is not whole.
    pub(crate) fn parse(bytes: &[u8]) -> Parsed<Self> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        let status = parsed.parse(bytes).map_err(malformed)?;
        let httparse::Status::Complete(length) = status else {
            return Ok(None);
        };
        let head = RequestHead {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            minor: parsed.version.unwrap_or(1),
            headers: Headers::from(&*parsed.headers),
        };
        Ok(Some((length, head)))
    }

    /// Whether the sender waits for a `100 Continue`.
    pub fn expects_continue(&self) -> bool {
        self.headers.lists("expect", "100-continue")
    }

    /// Whether the sender closes after this exchange.
    pub fn closes(&self) -> bool {
        self.headers.lists("connection", "close")
            || (self.minor == 0 && !self.headers.lists("connection", "keep-alive"))
    }
}

impl ResponseHead {
    /// The head at the front of `bytes`; `None` while it is not whole.
    pub(crate) fn parse(bytes: &[u8]) -> Parsed<Self> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Response::new(&mut fields);
        let status = parsed.parse(bytes).map_err(malformed)?;
        let httparse::Status::Complete(length) = status else {
            return Ok(None);
        };
        let head = ResponseHead {
            status: parsed.code.unwrap_or_default(),
            reason: parsed.reason.unwrap_or_default().to_owned(),
            minor: parsed.version.unwrap_or(1),
            headers: Headers::from(&*parsed.headers),
        };
        Ok(Some((length, head)))
    }
}

fn malformed(error: httparse::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_only_when_whole() {
        let bytes = b"POST /a?b=1 HTTP/1.1\r\nExpect: 100-continue\r\n\r\nbody";
        assert_eq!(RequestHead::parse(&bytes[..30]).unwrap(), None);
        let (length, head) = RequestHead::parse(bytes).unwrap().unwrap();
        assert_eq!(&bytes[length..], b"body");
        assert_eq!(head.target, "/a?b=1");
        assert!(head.expects_continue() && !head.closes());
    }

    #[test]
    fn what_is_not_http_is_an_error() {
        let error = ResponseHead::parse(b"SSH-2.0-x\r\n\r\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
