//! What can be wrong with an answer.

use std::io;

use thiserror::Error;

/// Why a request does not count; the text is what the report groups them by.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Fault {
    #[error("not connected: {0}")]
    Connect(io::ErrorKind),
    #[error("not sent: {0}")]
    Send(io::ErrorKind),
    #[error("not received: {0}")]
    Receive(io::ErrorKind),
    #[error("closed before the answer's end")]
    Closed,
    #[error("status {0}")]
    Status(u16),
    #[error("malformed answer")]
    Malformed,
    #[error("another body than asked for")]
    WrongBody,
    #[error("no answer in time")]
    TimedOut,
}
