//! The request's head as the backend reads it.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderName;
use http::header::UPGRADE;
use http::request::Parts;
use thermocline_policy::{
    COLD_HEADER, HEAD_BY_HEADER, HostHeader, REMAINING_HEADER, WHOLE_BY_HEADER,
};
use thermocline_table::Target;

use crate::call::Client;
use crate::forwarded::RequestFilter;
use crate::guard::Checked;
use crate::names;
use crate::upstream::Framing;

/// What is known of a request beside its own head.
pub(crate) struct HeadContext<'c> {
    pub(crate) checked: &'c Checked,
    pub(crate) client: &'c Client,
    pub(crate) trusted: bool,
    pub(crate) strip_authorization: bool,
    pub(crate) request_id: &'c [u8],
    /// Length of the path prefix that the backend does not see.
    pub(crate) prefix: Option<usize>,
    pub(crate) framing: Framing,
    /// Whether the backend is asked whether it wants the body, as the client asks us.
    pub(crate) expects: bool,
    /// For a backend that asks for it.
    pub(crate) patience: Option<Patience>,
}

/// How long the response is waited for.
pub(crate) struct Patience {
    /// What is left of the deadline.
    pub(crate) remaining: Duration,
    /// What is left for a start.
    pub(crate) cold: Duration,
    /// Until when its head is waited for, since 1970.
    pub(crate) head_by: Duration,
    /// Until when all of it is waited for, since 1970.
    pub(crate) whole_by: Duration,
}

/// Writes the head for `target`.
pub(crate) fn request_head(parts: &Parts, target: &Target, context: &HeadContext<'_>) -> Bytes {
    let mut out = Vec::with_capacity(512);
    let path = parts.uri.path_and_query().map_or("/", |p| p.as_str());
    let path = &path[context.prefix.unwrap_or(0)..];
    put(&mut out, &[parts.method.as_str().as_bytes(), b" "]);
    if !path.starts_with('/') && path != "*" {
        out.push(b'/');
    }
    put(&mut out, &[path.as_bytes(), b" HTTP/1.1\r\n"]);
    put_host(&mut out, target, context.checked);
    put_passed(&mut out, parts, target, context);
    put_framing(&mut out, context.framing);
    if context.expects {
        line(&mut out, "expect", b"100-continue");
    }
    put_forwarded(&mut out, parts, context);
    line(&mut out, "x-request-id", context.request_id);
    for (name, value) in &target.headers {
        line(&mut out, name.as_str(), value.as_bytes());
    }
    if let Some(patience) = &context.patience {
        put_millis(&mut out, REMAINING_HEADER, patience.remaining);
        put_millis(&mut out, COLD_HEADER, patience.cold);
        put_millis(&mut out, HEAD_BY_HEADER, patience.head_by);
        put_millis(&mut out, WHOLE_BY_HEADER, patience.whole_by);
    }
    out.extend_from_slice(b"\r\n");
    Bytes::from(out)
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    put(out, &[name.as_bytes(), b": ", value, b"\r\n"]);
}

fn put_millis(out: &mut Vec<u8>, name: &str, span: Duration) {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    line(out, name, itoa::Buffer::new().format(millis).as_bytes());
}

fn put_host(out: &mut Vec<u8>, target: &Target, checked: &Checked) {
    match target.host_header {
        HostHeader::Keep if !checked.host.is_empty() => line(out, "host", checked.host.as_bytes()),
        _ => line(out, "host", target.authority().as_bytes()),
    }
}

fn put_passed(out: &mut Vec<u8>, parts: &Parts, target: &Target, context: &HeadContext<'_>) {
    let filter = RequestFilter::new(parts, context);
    let added = |name: &HeaderName| target.headers.iter().any(|(ours, _)| ours == name);
    for (name, value) in &parts.headers {
        if filter.passes(name) && !added(name) {
            line(out, name.as_str(), value.as_bytes());
        }
    }
    if context.checked.upgrade {
        line(out, "connection", b"upgrade");
        for value in parts.headers.get_all(UPGRADE) {
            line(out, "upgrade", value.as_bytes());
        }
    } else if context.checked.trailers {
        line(out, "connection", b"te");
        line(out, "te", b"trailers");
    }
}

fn put_framing(out: &mut Vec<u8>, framing: Framing) {
    match framing {
        Framing::Empty => {}
        Framing::Length(length) => {
            let mut digits = itoa::Buffer::new();
            line(out, "content-length", digits.format(length).as_bytes());
        }
        Framing::Chunked => line(out, "transfer-encoding", b"chunked"),
    }
}

fn put_forwarded(out: &mut Vec<u8>, parts: &Parts, context: &HeadContext<'_>) {
    let said = |name: &str| match context.trusted {
        true => parts.headers.get(name),
        false => None,
    };
    put(out, &[b"x-forwarded-for: "]);
    if context.trusted {
        for value in parts.headers.get_all(&names::FORWARDED_FOR) {
            put(out, &[value.as_bytes(), b", "]);
        }
    }
    put(out, &[context.client.address.as_bytes(), b"\r\n"]);
    let host = said("x-forwarded-host").map_or(context.checked.host.as_bytes(), |v| v.as_bytes());
    line(out, "x-forwarded-host", host);
    let proto = said("x-forwarded-proto").map_or(&b"http"[..], |v| v.as_bytes());
    line(out, "x-forwarded-proto", proto);
    let prefix = context.prefix.map(|end| &parts.uri.path()[..end]);
    let before = said("x-forwarded-prefix").map_or(&b""[..], |v| v.as_bytes());
    if prefix.is_some() || !before.is_empty() {
        let mut whole = before.to_vec();
        whole.extend_from_slice(prefix.unwrap_or_default().as_bytes());
        line(out, "x-forwarded-prefix", &whole);
    }
}
