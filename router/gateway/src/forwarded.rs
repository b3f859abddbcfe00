//! Which headers reach the other side (RFC 9110 §7.6.1).

use http::HeaderName;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, FORWARDED, HOST, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;

use crate::guard::connection_tokens;
use crate::head::HeadContext;

const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    TE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
];
const FORWARDED_PREFIX: &str = "x-forwarded-";

/// Whether it belongs to one connection (RFC 9110 §7.6.1).
pub(crate) fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name) || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

/// The headers of a request that go on as they are; ours are added afterwards,
/// so that a client can neither forge them nor name them in `Connection`.
pub(crate) struct RequestFilter<'h> {
    named: Vec<&'h str>,
    trusted: bool,
    strip_authorization: bool,
}

impl<'h> RequestFilter<'h> {
    pub(crate) fn new(parts: &'h Parts, context: &HeadContext<'_>) -> Self {
        let ours = |token: &&str| !matches!(*token, "keep-alive" | "close" | "upgrade");
        let named = match context.checked.seen.connection {
            true => connection_tokens(&parts.headers).filter(ours).collect(),
            false => Vec::new(),
        };
        RequestFilter {
            named,
            trusted: context.trusted,
            strip_authorization: context.strip_authorization,
        }
    }

    pub(crate) fn passes(&self, name: &HeaderName) -> bool {
        let text = name.as_str();
        let ours = *name == HOST
            || *name == CONTENT_LENGTH
            || *name == EXPECT
            || text == "x-request-id"
            || text.starts_with("x-thermocline-")
            || (*name == AUTHORIZATION && self.strip_authorization);
        let claims =
            *name == FORWARDED || text.starts_with(FORWARDED_PREFIX) || text == "x-real-ip";
        // Written anew by us, from what a trusted peer said.
        let rewritten = text
            .strip_prefix(FORWARDED_PREFIX)
            .is_some_and(|what| matches!(what, "for" | "host" | "proto" | "prefix"));
        let believed = self.trusted || !claims;
        let named = || self.named.iter().any(|n| n.eq_ignore_ascii_case(text));
        // Some backends read `_` as `-`, and so what was taken off here.
        let ambiguous = text.contains('_');
        !ours && !rewritten && believed && !ambiguous && !is_hop_by_hop(name) && !named()
    }
}
