use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;

/// A connection's socket, for what only the kernel can tell or do.
#[derive(Debug)]
pub(super) struct Line(pub(super) Arc<TcpStream>);

impl Line {
    /// Whether the peer's end has arrived, even if nobody has read it yet;
    /// `false` while something lies before it.
    ///
    /// Asked of the kernel, because a task that has yet to notice must not
    /// count as a request that is being worked on.
    pub(super) fn peer_is_gone(&self) -> bool {
        let mut first = [MaybeUninit::uninit()];
        match SockRef::from(&*self.0).peek(&mut first) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Makes the coming close a reset.
    pub(super) fn reset_on_close(&self) -> io::Result<()> {
        SockRef::from(&*self.0).set_linger(Some(Duration::ZERO))
    }
}
