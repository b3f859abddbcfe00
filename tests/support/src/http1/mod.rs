//! HTTP/1.1 and WebSocket as bytes on a socket, shared by both ends of a test.
//!
//! Written apart from the product's own libraries on purpose: a double that
//! shared them would share their mistakes and hide what was really sent.

mod body;
mod digest;
mod head;
mod headers;
mod inbound;
mod outbound;
mod stamp;
pub mod websocket;

pub use body::Framing;
pub(crate) use body::{BodyReader, allows_body};
pub(crate) use digest::hex;
pub use digest::sha256_hex;
pub use head::{RequestHead, ResponseHead};
pub use headers::Headers;
pub(crate) use inbound::{Inbound, Parsed};
pub(crate) use outbound::Outbound;
pub(crate) use stamp::now;
