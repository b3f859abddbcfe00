//! A length beside chunks, in the first head of a connection.
//!
//! The HTTP/1.1 library reads such a request by its chunks alone, takes the
//! length off and closes the connection afterwards, which is safe and allowed
//! (RFC 9112 §6.3). A client that probes for it is better told so; where the
//! head is the first of its connection that costs no other request anything.

use bytes::Bytes;

/// What no library takes for a head.
const MALFORMED: &[u8] = b"\0\r\n\r\n";

/// What the library is given to read: `first`, or what it must refuse.
pub(crate) fn unless_ambiguous(first: Bytes) -> Bytes {
    match has_both(&first) {
        true => Bytes::from_static(MALFORMED),
        false => first,
    }
}

/// Whether the head has both Transfer-Encoding and Content-Length.
fn has_both(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1);
    let fields = lines.take_while(|line| !line.trim_ascii_end().is_empty());
    let (mut coding, mut length) = (false, false);
    for field in fields {
        coding |= is(field, b"transfer-encoding");
        length |= is(field, b"content-length");
    }
    coding && length
}

fn is(field: &[u8], name: &[u8]) -> bool {
    field.get(name.len()) == Some(&b':') && field[..name.len()].eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_in_one_head_are_refused_in_any_order_and_case() {
        let head = |fields: &str| format!("POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\nbody");
        for fields in [
            "content-length: 4\r\ntransfer-encoding: chunked",
            "Transfer-Encoding: chunked\r\nCONTENT-LENGTH: 4",
            "transfer-encoding: x\nx: y\ncontent-length: 4",
        ] {
            assert!(has_both(head(fields).as_bytes()), "{fields}");
        }
        for fields in [
            "content-length: 4",
            "transfer-encoding: chunked",
            "content-length: 4\r\nx: transfer-encoding: chunked",
            "content-length: 4\r\nx-transfer-encoding: chunked",
            "content-length: 4\r\n\r\ntransfer-encoding: chunked",
        ] {
            assert!(!has_both(head(fields).as_bytes()), "{fields}");
        }
        assert!(!has_both(b""));
    }
}
