use super::Afterwards;
use super::reply::{Body, Declared, Reply};
use crate::http1::{Framing, allows_body};

/// The bytes of a reply's head, and how its body is to be framed.
pub(super) fn write(reply: &Reply, head_only: bool) -> (Vec<u8>, Framing) {
    let framing = match allows_body(reply.status) {
        true => framing(reply),
        false => None,
    };
    let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status)).into_bytes();
    reply.headers.write_to(&mut head);
    head.extend_from_slice(declaration(framing).as_bytes());
    if reply.afterwards == Afterwards::Close {
        head.extend_from_slice(b"connection: close\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let sent = framing.filter(|_| !head_only);
    (head, sent.unwrap_or(Framing::Empty))
}

fn framing(reply: &Reply) -> Option<Framing> {
    Some(match (reply.declared, &reply.body) {
        (Declared::Length(length), _) => Framing::Length(length),
        (Declared::Chunked, _) => Framing::Chunked,
        (Declared::UntilClose, _) => Framing::UntilClose,
        (Declared::Fitting, Body::Whole(bytes)) => Framing::Length(bytes.len() as u64),
        (Declared::Fitting, Body::Raw(_) | Body::WebSocketEcho) => return None,
        (Declared::Fitting, _) => Framing::Chunked,
    })
}

fn declaration(framing: Option<Framing>) -> String {
    match framing {
        Some(Framing::Length(length)) => format!("content-length: {length}\r\n"),
        Some(Framing::Chunked) => "transfer-encoding: chunked\r\n".to_owned(),
        Some(Framing::UntilClose | Framing::Empty) | None => String::new(),
    }
}

fn reason(status: u16) -> &'static str {
    let known = http::StatusCode::from_u16(status).ok();
    known.and_then(|s| s.canonical_reason()).unwrap_or("")
}
