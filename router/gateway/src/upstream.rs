//! HTTP/1.1 towards a backend, driven inside the request's own task.
//!
//! No connection task and no channel: the response's body *is* the reader of
//! the backend's connection, and goes on sending the request's body while it
//! is being read. That is what makes an answer that comes before the end of
//! the upload work, and what makes the path cheap.

mod connect;
mod decoder;
mod exchange;
mod head;
mod pool;
mod stream;
mod upload;

pub(crate) use connect::Connector;
pub(crate) use decoder::{Decoded, Decoder};
pub(crate) use exchange::{BodyPiece, Exchange, ExchangeError};
pub(crate) use head::{ResponseHead, decimal};
pub(crate) use pool::{checkin, checkout, sweep};
pub(crate) use stream::{Connection, UpstreamIo};
pub(crate) use upload::{Framing, Upload};
