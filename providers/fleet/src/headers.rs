//! Headers as they travel: in order, as text.

use http::header::{CONNECTION, CONTENT_LENGTH, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Belongs to one connection, or is between the gateway and this server.
fn is_of_the_hop(name: &HeaderName) -> bool {
    let hop = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
    hop.contains(name) || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

/// A request's headers as the backend is to see them.
pub(crate) fn of_request(headers: &HeaderMap) -> Vec<(String, String)> {
    let ours = |name: &HeaderName| name.as_str().starts_with("x-thermocline-");
    let passed = headers.iter();
    let passed =
        passed.filter(|(name, _)| !is_of_the_hop(name) && !ours(name) && *name != CONTENT_LENGTH);
    passed
        .map(|(name, value)| (name.to_string(), latin1(value)))
        .collect()
}

/// A result's headers as the client is to see them; what is no header is left out.
pub(crate) fn of_result(headers: &[(String, String)]) -> HeaderMap {
    let read = |(name, value): &(String, String)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let bytes: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(c).ok()).collect();
        Some((name, HeaderValue::from_bytes(&bytes?).ok()?))
    };
    let read = headers.iter().filter_map(read);
    let mut map = HeaderMap::new();
    for (name, value) in read.filter(|(name, _)| !is_of_the_hop(name)) {
        map.append(name, value);
    }
    map
}

fn latin1(value: &HeaderValue) -> String {
    value
        .as_bytes()
        .iter()
        .map(|byte| char::from(*byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_byte_for_byte() {
        let mut headers = HeaderMap::new();
        headers.insert("x-odd", HeaderValue::from_bytes(b"\xe9\xff").unwrap());
        headers.append("accept", HeaderValue::from_static("a"));
        headers.append("accept", HeaderValue::from_static("b"));
        assert_eq!(of_result(&of_request(&headers)), headers);
    }

    #[test]
    fn what_belongs_to_a_hop_stays_there() {
        let mut headers = HeaderMap::new();
        for name in [
            "connection",
            "transfer-encoding",
            "x-thermocline-fleet-token",
            "content-length",
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        assert!(of_request(&headers).is_empty());
        let result = [
            ("connection", "close"),
            ("bad name", "x"),
            ("x-ok", "1\n2"),
            ("x-fine", "1"),
        ];
        let result = result.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(of_result(&result).len(), 1);
    }
}
