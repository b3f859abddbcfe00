//! Callers that see what really comes over the wire, and when.
//!
//! [`RawClient`] speaks HTTP/1.1 byte by byte or, through
//! [`RawClient::request`], one whole request at a time; [`WebSocket`] takes
//! over its connection, and [`Http2Client`] speaks HTTP/2 without TLS. Dropping
//! any of them disconnects at once.

mod error;
mod http2;
mod payload;
mod raw;
mod receiver;
mod request;
mod sender;
#[cfg(test)]
mod tests;
mod websocket;

pub use crate::http1::ResponseHead as Head;
pub use error::ClientError;
pub use http2::{Http2Client, Http2Response};
pub use payload::pattern_sha256;
pub use raw::RawClient;
pub use receiver::{Body, Chunk, Ended, Receiver};
pub use request::{RequestBuilder, Response};
pub use sender::Sender;
pub use websocket::WebSocket;
