//! What is refused before anything else is looked at (RFC 9112 §3.2, §6.3).

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version};

use crate::names;
use crate::refusal::{Refusal, refuse};
use crate::upstream::Framing;

const LONGEST_URI: usize = 8 * 1024;
const LARGEST_HEAD: usize = 32 * 1024;

/// What the guard found out on its way.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The authority that the client named; empty for HTTP/1.0 without one.
    pub(crate) host: String,
    /// Whether the client waits for `100 Continue`.
    pub(crate) expects: bool,
    /// The protocol to switch to.
    pub(crate) upgrade: bool,
    /// The length of the body as the client declared it.
    pub(crate) framing: Framing,
    /// Whether the client accepts trailers: only then may they be sent.
    pub(crate) trailers: bool,
    pub(crate) seen: Seen,
}

/// Which of the headers that mean something to us are there at all: most
/// requests have few of them, and a look-up costs more than a bit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) connection: bool,
    pub(crate) upgrade: bool,
    /// One that names the deployment.
    pub(crate) deployment: bool,
    /// One that says how long to wait.
    pub(crate) patience: bool,
    expect: bool,
    te: bool,
}

/// Checks the head of a request, of which the connection may know that it is
/// `bodyless`: HTTP/2 frames bodies without a header.
pub(crate) fn check(parts: &Parts, bodyless: bool) -> Result<Checked, Refusal> {
    if parts.method == Method::CONNECT {
        return Err(refuse(501, "unsupported_method", "CONNECT is not served").closing());
    }
    let seen = look(parts)?;
    let framing = framing(parts, bodyless)?;
    Ok(Checked {
        host: host(parts)?,
        expects: seen.expect && expects(&parts.headers)?,
        upgrade: seen.upgrade && is_upgrade(parts),
        framing,
        trailers: seen.te && wants_trailers(&parts.headers),
        seen,
    })
}

/// Looks over the whole head once.
fn look(parts: &Parts) -> Result<Seen, Refusal> {
    let uri = parts.uri.path_and_query().map_or(0, |p| p.as_str().len());
    if uri > LONGEST_URI {
        return Err(refuse(414, "uri_too_long", "the URI is longer than 8 KiB").closing());
    }
    let mut head = 0;
    let mut seen = Seen::default();
    for (name, value) in &parts.headers {
        head += name.as_str().len() + value.len() + 4;
        seen.note(name);
    }
    if head > LARGEST_HEAD {
        return Err(refuse(431, "head_too_large", "the header is larger than 32 KiB").closing());
    }
    Ok(seen)
}

impl Seen {
    fn note(&mut self, name: &HeaderName) {
        self.connection |= *name == CONNECTION;
        self.upgrade |= *name == UPGRADE;
        self.expect |= *name == EXPECT;
        self.te |= *name == TE;
        match name.as_str() {
            names::X_DEPLOYMENT | names::X_MODEL_NAME => self.deployment = true,
            names::X_TIMEOUT | names::X_SCALE_UP_TIMEOUT | names::PREFERENCE => {
                self.patience = true;
            }
            _ => {}
        }
    }
}

fn framing(parts: &Parts, bodyless: bool) -> Result<Framing, Refusal> {
    let bad = |detail| refuse(400, "bad_framing", detail).closing();
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).iter();
    let mut lengths = parts.headers.get_all(CONTENT_LENGTH).iter();
    match (codings.next(), lengths.next()) {
        (Some(_), Some(_)) => Err(bad("both Transfer-Encoding and Content-Length")),
        (Some(coding), None) => {
            let chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked");
            match chunked && codings.next().is_none() && parts.version == Version::HTTP_11 {
                true => Ok(Framing::Chunked),
                false => Err(refuse(501, "unknown_coding", "only chunked, once").closing()),
            }
        }
        (None, Some(first)) => {
            let length = crate::upstream::decimal(first.as_bytes());
            match length.filter(|_| lengths.all(|other| other == first)) {
                Some(0) => Ok(Framing::Empty),
                Some(length) => Ok(Framing::Length(length)),
                None => Err(bad("the Content-Length is not one number")),
            }
        }
        (None, None) if parts.version == Version::HTTP_2 && !bodyless => Ok(Framing::Chunked),
        (None, None) => Ok(Framing::Empty),
    }
}

/// The one valid authority; an absolute target wins over Host.
fn host(parts: &Parts) -> Result<String, Refusal> {
    let bad = |detail| refuse(400, "bad_host", detail).closing();
    let mut hosts = parts.headers.get_all(HOST).iter();
    let header = hosts.next();
    if hosts.next().is_some() {
        return Err(bad("more than one Host"));
    }
    if let Some(authority) = parts.uri.authority() {
        let host = authority.as_str();
        return match host.contains('@') || !is_authority(host) {
            true => Err(bad("the target's authority is not valid")),
            false => Ok(host.to_owned()),
        };
    }
    match header {
        None if parts.version == Version::HTTP_10 => Ok(String::new()),
        None => Err(bad("no Host")),
        Some(value) => match value.to_str() {
            Ok(host) if is_authority(host) => Ok(host.to_owned()),
            _ => Err(bad("the Host is not valid")),
        },
    }
}

/// `host` or `host:port`, of characters that cannot shift how a URI is read.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port_ok = port.is_none_or(|p| p.is_empty() || p.parse::<u16>().is_ok());
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host_ok = match inner {
        Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~'))
        }
    };
    port_ok && host_ok
}

fn expects(headers: &HeaderMap) -> Result<bool, Refusal> {
    let mut expectations = headers.get_all(EXPECT).iter();
    let Some(first) = expectations.next() else {
        return Ok(false);
    };
    let known = first.as_bytes().eq_ignore_ascii_case(b"100-continue");
    match known && expectations.next().is_none() {
        true => Ok(true),
        false => Err(refuse(417, "unknown_expectation", "only 100-continue").closing()),
    }
}

fn is_upgrade(parts: &Parts) -> bool {
    parts.version == Version::HTTP_11
        && connection_tokens(&parts.headers).any(|t| t.eq_ignore_ascii_case("upgrade"))
}

fn wants_trailers(headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(TE).iter().flat_map(tokens);
    named.any(|t| t.eq_ignore_ascii_case("trailers"))
}

/// What `Connection` names.
pub(crate) fn connection_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(CONNECTION).iter().flat_map(tokens)
}

/// The words of a header that is a list of them.
pub(crate) fn tokens(value: &HeaderValue) -> impl Iterator<Item = &str> {
    let words = value.to_str().unwrap_or_default().split(',');
    words.map(str::trim).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri("/x").version(Version::HTTP_11);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn status(headers: &[(&str, &str)]) -> u16 {
        check(&parts(headers), false).map_or_else(|refusal| refusal.status.as_u16(), |_| 200)
    }

    #[test]
    fn framing_is_never_ambiguous() {
        let host = ("host", "a");
        assert_eq!(status(&[host, ("content-length", "5")]), 200);
        assert_eq!(status(&[host, ("transfer-encoding", "chunked")]), 200);
        assert_eq!(
            status(&[
                host,
                ("content-length", "5"),
                ("transfer-encoding", "chunked")
            ]),
            400
        );
        assert_eq!(
            status(&[host, ("content-length", "5"), ("content-length", "6")]),
            400
        );
        assert_eq!(status(&[host, ("content-length", "+5")]), 400);
        assert_eq!(status(&[host, ("content-length", "5, 5")]), 400);
        assert_eq!(status(&[host, ("transfer-encoding", "gzip, chunked")]), 501);
        let twice = ("transfer-encoding", "chunked");
        assert_eq!(status(&[host, twice, twice]), 501);
    }

    #[test]
    fn there_is_exactly_one_valid_host() {
        assert_eq!(status(&[]), 400);
        assert_eq!(status(&[("host", "a"), ("host", "a")]), 400);
        for bad in [
            "", "a/b", "a@b", "a b", "a:99999", "a\tb", "[::1", "a?b", "a#b", "a\\b",
        ] {
            assert_eq!(status(&[("host", bad)]), 400, "{bad:?}");
        }
        for good in [
            "m1.local",
            "m1.local:8080",
            "M1.Local",
            "m1.local.",
            "[::1]:80",
            "127.0.0.1",
        ] {
            assert_eq!(status(&[("host", good)]), 200, "{good:?}");
        }
    }

    #[test]
    fn an_unknown_expectation_is_417() {
        assert_eq!(status(&[("host", "a"), ("expect", "100-Continue")]), 200);
        assert_eq!(status(&[("host", "a"), ("expect", "200-ok")]), 417);
    }

    #[test]
    fn b11_an_upgrade_is_seen_among_other_tokens() {
        let seen = |connection, upgrade| {
            let headers = [
                ("host", "a"),
                ("connection", connection),
                ("upgrade", upgrade),
            ];
            check(&parts(&headers), false).unwrap().upgrade
        };
        assert!(seen("keep-alive, Upgrade", "WebSocket"));
        assert!(seen("upgrade", "websocket"));
        assert!(!seen("close", "websocket"));
    }

    #[test]
    fn heads_are_bounded() {
        let large = "x".repeat(33 * 1024);
        assert_eq!(status(&[("host", "a"), ("x", &large)]), 431);
    }
}
