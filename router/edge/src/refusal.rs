//! Answers to heads that the HTTP/1.1 library cannot read.
//!
//! It answers those by itself, with a status and nothing else. The connection
//! sees that answer pass and sends one in its place that says what is wrong,
//! under an id that the log has, too.

use bytes::Bytes;
use ulid::Ulid;

/// What the library's own answers begin with.
const BEGINNING: &[u8] = b"HTTP/1.1 4";

/// The answer in place of the library's `own`; `None` where that is none of them.
pub(crate) fn in_place_of(own: &[u8]) -> Option<Bytes> {
    let status = own.strip_prefix(BEGINNING)?.get(..2)?;
    let (line, code, detail) = match status {
        b"14" => ("414 URI Too Long", "uri_too_long", "the URI is too long"),
        b"31" => (
            "431 Request Header Fields Too Large",
            "head_too_large",
            "the header is larger than 32 KiB, or has more than 100 fields",
        ),
        _ => (
            "400 Bad Request",
            "bad_request",
            "the head of the request is malformed",
        ),
    };
    let id = Ulid::generate();
    tracing::debug!(%id, code, "a head was refused");
    let (number, title) = line.split_once(' ')?;
    let body = format!(
        "{{\"type\":\"about:blank\",\"title\":\"{title}\",\"status\":{number},\
         \"code\":\"{code}\",\"detail\":\"{detail}\",\"request_id\":\"{id}\"}}"
    );
    let date = date_line(own).unwrap_or_default();
    let answer = format!(
        "HTTP/1.1 {line}\r\ncontent-type: application/problem+json\r\n\
         content-length: {}\r\nconnection: close\r\nx-request-id: {id}\r\n{date}\r\n{body}",
        body.len()
    );
    Some(Bytes::from(answer))
}

/// The library's `date` line with its end.
fn date_line(own: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(own).ok()?;
    text.split_inclusive("\r\n")
        .find(|line| line.starts_with("date:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_keeps_status_and_date_and_says_more() {
        let own = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\
                    content-length: 0\r\ndate: Mon, 01 Jan 2029 00:00:00 GMT\r\n\r\n";
        let answer = in_place_of(own).unwrap();
        let text = std::str::from_utf8(&answer).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
        assert!(head.ends_with("\r\ndate: Mon, 01 Jan 2029 00:00:00 GMT"));
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())));
        assert!(body.contains("\"code\":\"head_too_large\""));
        assert_eq!(in_place_of(b"HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(in_place_of(b"{\"x\":1}"), None);
    }
}
