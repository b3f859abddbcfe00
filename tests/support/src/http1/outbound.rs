use std::io;
use std::net::Shutdown;
use std::sync::Arc;

use socket2::SockRef;
use tokio::net::TcpStream;

/// Bytes going out, each handed to the socket at once.
#[derive(Debug)]
pub(crate) struct Outbound(Arc<TcpStream>);

impl Outbound {
    pub(crate) fn new(stream: Arc<TcpStream>) -> Self {
        Outbound(stream)
    }

    /// Ends when the socket has taken all of `bytes`.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.0.writable().await?;
            match self.0.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells the peer that nothing more comes.
    pub(crate) fn end(&self) -> io::Result<()> {
        SockRef::from(&*self.0).shutdown(Shutdown::Write)
    }
}
