use super::{ClientError, RawClient, Receiver, Sender};
use crate::http1::websocket::{Frame, Opcode, accept_key};

/// RFC 6455's own example: a double needs no random key.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// An open WebSocket.
#[derive(Debug)]
pub struct WebSocket(RawClient);

impl WebSocket {
    /// Asks for a WebSocket at `target`. `connection` and `upgrade` are added
    /// unless `headers` has them.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when the answer is not 101.
    pub async fn open(
        mut client: RawClient,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, ClientError> {
        let mut request = client.request("GET", target);
        for (name, default) in [("connection", "Upgrade"), ("upgrade", "websocket")] {
            if !headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)) {
                request = request.header(name, default);
            }
        }
        for (name, value) in headers {
            request = request.header(name.to_string(), value.to_string());
        }
        request = request.header("sec-websocket-version", "13");
        request.header("sec-websocket-key", KEY).start().await?;
        let head = client.read_head().await?;
        let accepted = head.headers.get("sec-websocket-accept");
        match head.status == 101 && accepted == Some(&accept_key(KEY)) {
            true => Ok(WebSocket(client)),
            false => Err(ClientError::Refused(Box::new(head))),
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// As [`Sender::send_raw`].
    pub async fn send(&mut self, frame: Frame) -> Result<(), ClientError> {
        let (sender, _) = self.halves();
        sender.send_raw(frame.encode(Some(MASK))).await
    }

    /// The next frame; `None` when the peer closed the connection between two.
    ///
    /// # Errors
    /// [`ClientError::Aborted`] when it broke it off.
    pub async fn read(&mut self) -> Result<Option<Frame>, ClientError> {
        let (_, receiver) = self.halves();
        receiver.read_frame().await
    }

    /// Sends a message and returns the next frame.
    ///
    /// # Errors
    /// As [`WebSocket::send`] and [`WebSocket::read`]; [`ClientError::Closed`] when none comes.
    pub async fn exchange(
        &mut self,
        opcode: Opcode,
        payload: impl Into<bytes::Bytes>,
    ) -> Result<Frame, ClientError> {
        self.send(Frame::new(opcode, payload)).await?;
        self.read().await?.ok_or(ClientError::Closed)
    }

    /// Both halves, to send and receive at the same time.
    pub fn halves(&mut self) -> (&mut Sender, &mut Receiver) {
        self.0.halves()
    }
}
