//! The edge of both planes: accepts connections, bounds how long a client may
//! take to say what it wants, and drains.
//!
//! The usual servers install no timer, so a client that sends its head a byte
//! at a time holds a connection for ever. Here a head has ten seconds from its
//! first byte, a fresh connection as long to send one, and an idle one a bit
//! more than a minute.

mod accept;
mod alarm;
mod connection;
mod framing;
mod io;
mod phase;
mod refusal;
mod signal;

pub use accept::{Accept, connection_limit, listen};
pub use connection::{Lifecycle, Timeouts, serve_connection};
pub use io::EdgeIo;
