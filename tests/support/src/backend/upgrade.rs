use super::body_writer::Stopped;
use super::log::Visit;
use super::reply::{Body, Reply};
use super::{Request, head_writer};
use crate::http1::websocket::{Frame, Opcode, accept_key};
use crate::http1::{Inbound, Outbound};

/// `reply`, or 400 where it is a WebSocket and the request is no handshake.
pub(super) fn checked(request: &Request, reply: Reply) -> Reply {
    let wanted = matches!(reply.body, Body::WebSocketEcho);
    match wanted && !is_handshake(request) {
        true => Reply::new(400),
        false => reply,
    }
}

fn is_handshake(request: &Request) -> bool {
    let headers = request.headers();
    request.method() == "GET"
        && headers.lists("connection", "upgrade")
        && headers.lists("upgrade", "websocket")
        && headers.get("sec-websocket-version") == Some("13")
        && headers.contains("sec-websocket-key")
}

/// Accepts the WebSocket and sends back what comes until either side closes.
pub(super) async fn run(
    inbound: &mut Inbound,
    out: &mut Outbound,
    (visit, request, reply): (&Visit, &Request, &Reply),
) -> Result<(), Stopped> {
    let key = request.header("sec-websocket-key").unwrap_or_default();
    let accepted = reply
        .clone()
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-accept", accept_key(key));
    out.write(&head_writer::write(&accepted, false).0).await?;
    visit.head_sent();
    while let Some(frame) = Frame::read(inbound).await? {
        visit.frame(&frame);
        if frame.opcode == Opcode::Close {
            visit.leave();
        }
        if let Some(back) = answered(&frame) {
            out.write(&back.encode(None)).await?;
            visit.wrote(&back.payload);
        }
        if frame.opcode == Opcode::Close {
            return Ok(());
        }
    }
    Err(Stopped::PeerLeft)
}

fn answered(frame: &Frame) -> Option<Frame> {
    match frame.opcode {
        Opcode::Pong => None,
        Opcode::Ping => Some(Frame::new(Opcode::Pong, frame.payload.clone())),
        _ => Some(frame.clone()),
    }
}
