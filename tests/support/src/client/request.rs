use bytes::Bytes;

use super::payload::Payload;
use super::{ClientError, Ended, Head, RawClient, Receiver};
use crate::http1::Headers;

/// A request of the usual kind, on its way.
///
/// `host` is the peer's address unless a header says otherwise.
#[derive(Debug)]
#[must_use = "a request does nothing before it is sent"]
pub struct RequestBuilder<'a> {
    client: &'a mut RawClient,
    method: String,
    target: String,
    headers: Headers,
    trailers: Headers,
    payload: Payload,
}

/// A whole response, however it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body, up to where it ended.
    pub body: Bytes,
    /// The trailers.
    pub trailers: Headers,
    /// How the body ended.
    pub ended: Ended,
    /// The interim (1xx) heads before it.
    pub interim: Vec<Head>,
}

impl<'a> RequestBuilder<'a> {
    pub(super) fn new(client: &'a mut RawClient, method: &str, target: &str) -> Self {
        RequestBuilder {
            client,
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Headers::default(),
            trailers: Headers::default(),
            payload: Payload::None,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.headers.push(name, value);
        self
    }

    /// Sends `body` with its length.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.payload = Payload::Whole(body.into());
        self
    }

    /// Sends each of `chunks` as one chunk.
    pub fn chunks<I>(mut self, chunks: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Bytes>,
    {
        self.payload = Payload::Chunks(chunks.into_iter().map(Into::into).collect());
        self
    }

    /// Sends `bytes` bytes made on the way, whose hash is
    /// [`pattern_sha256`](super::pattern_sha256); with their length or `chunked`.
    pub fn pattern(mut self, bytes: u64, chunked: bool) -> Self {
        self.payload = Payload::Pattern { bytes, chunked };
        self
    }

    /// Adds a trailer; needs a chunked body.
    pub fn trailer(mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.trailers.push(name, value);
        self
    }

    /// Sends the head alone; the rest is up to the test.
    ///
    /// # Errors
    /// [`ClientError::Aborted`] when the peer is gone.
    pub async fn send_head(self) -> Result<(), ClientError> {
        let head = self.head();
        self.client.send_raw(head).await
    }

    /// Sends everything, and does not wait for the response.
    ///
    /// # Errors
    /// As [`RequestBuilder::send_head`].
    pub async fn start(self) -> Result<(), ClientError> {
        let head = self.head();
        self.client.send_raw(head).await?;
        let sender = &mut self.client.sender;
        Ok(sender.payload(&self.payload, &self.trailers).await?)
    }

    /// Sends everything while it waits for the response, and reads that to its
    /// end; a response that comes before all was sent counts.
    ///
    /// # Errors
    /// When there is no head, or the body stands still or is malformed.
    pub async fn send(self) -> Result<Response, ClientError> {
        let head = self.head();
        self.client.send_raw(head).await?;
        let (sender, receiver) = self.client.halves();
        let sending = sender.payload(&self.payload, &self.trailers);
        let receiving = whole_response(receiver);
        tokio::pin!(sending, receiving);
        tokio::select! {
            // Whether sending failed shows in what can be received.
            _ = &mut sending => receiving.await,
            response = &mut receiving => response,
        }
    }

    fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.headers.contains("host") {
            head += &format!("host: {}\r\n", self.client.peer());
        }
        head.extend(self.payload.declaration());
        let mut head = head.into_bytes();
        self.headers.write_to(&mut head);
        head.extend_from_slice(b"\r\n");
        head
    }
}

async fn whole_response(receiver: &mut Receiver) -> Result<Response, ClientError> {
    let mut interim = Vec::new();
    let head = loop {
        match receiver.read_head().await? {
            head if head.status < 200 && head.status != 101 => interim.push(head),
            head => break head,
        }
    };
    let body = receiver.read_body().await?;
    Ok(Response {
        status: head.status,
        headers: head.headers,
        body: body.bytes,
        trailers: body.trailers,
        ended: body.ended,
        interim,
    })
}

impl Response {
    /// The body as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }
}
