use std::future::Future;
use std::io;
use std::time::Duration;

use thiserror::Error;

use super::Head;

/// Why a client has nothing to show.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nothing came in as long as the client waits.
    #[error("nothing came in {0:?}")]
    TimedOut(Duration),
    /// The peer ended the connection where it may.
    #[error("the peer closed the connection")]
    Closed,
    /// The peer ended the connection where it must not, or broke it off.
    #[error("the peer broke the connection off")]
    Aborted(#[source] io::Error),
    /// What came is not what the protocol allows.
    #[error("the peer broke the protocol")]
    Malformed(#[source] io::Error),
    /// The handshake was answered with something else than 101.
    #[error("the handshake was answered with {}", .0.status)]
    Refused(Box<Head>),
    /// An HTTP/2 connection or stream failed.
    #[error("HTTP/2 failed")]
    Http2(#[from] hyper::Error),
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => ClientError::Malformed(error),
            _ => ClientError::Aborted(error),
        }
    }
}

/// `work`, at most for as long as `patience`.
pub(super) async fn within<T, E: Into<ClientError>>(
    patience: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, ClientError> {
    match tokio::time::timeout(patience, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(ClientError::TimedOut(patience)),
    }
}
