use std::time::Duration;

use bytes::Bytes;

use super::{Gate, Latch};
use crate::http1::Headers;

/// How a connection is broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Closed, as by a process that ends.
    Close,
    /// Reset, as by a machine that lost its state.
    Reset,
}

/// When the request's body is read.
#[derive(Debug, Clone)]
pub enum Reading {
    /// To its end before the response begins.
    First,
    /// At most so many bytes a second, to its end before the response begins.
    Slowly(u64),
    /// Not before the latch opens, then as [`Reading::First`]; that the peer
    /// left is not noticed before.
    After(Latch),
    /// While the response is sent.
    Alongside,
    /// Never: the response is final, and the connection closes after it.
    Never,
}

/// What becomes of the connection after a response that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// The next request may come.
    KeepAlive,
    /// Closed, and said so in the head.
    Close,
    /// Closed without a word.
    CloseSilently,
    /// Closed at the very moment at which the next request arrives.
    CloseOnNextRequest,
}

/// How the end of the body is made known; by default as fits the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    Fitting,
    Length(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Whole(Bytes),
    Items(Vec<Bytes>, Duration),
    Gated(Gate),
    Echo,
    WebSocketEcho,
    /// Everything, the head too, as the test wrote it.
    Raw(Bytes),
}

/// What a backend does with one request.
///
/// Durations run on the backend's clock.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Body,
    pub(super) declared: Declared,
    pub(super) trailers: Headers,
    pub(super) reading: Reading,
    pub(super) continues: bool,
    pub(super) hold: Option<Latch>,
    pub(super) delay: Duration,
    pub(super) cut_after: Option<(u64, Cut)>,
    pub(super) afterwards: Afterwards,
}

impl Reply {
    /// `status` with an empty body.
    pub fn new(status: u16) -> Self {
        Reply {
            status,
            headers: Headers::default(),
            body: Body::Whole(Bytes::new()),
            declared: Declared::Fitting,
            trailers: Headers::default(),
            reading: Reading::First,
            continues: true,
            hold: None,
            delay: Duration::ZERO,
            cut_after: None,
            afterwards: Afterwards::KeepAlive,
        }
    }

    /// 200 with `body`.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Reply::new(200).body(body)
    }

    /// 200 that sends the request's body back while it comes in.
    pub fn echo() -> Self {
        Reply::new(200).with(Body::Echo)
    }

    /// Accepts a WebSocket and sends its messages and pings back; 400 to
    /// whatever is no WebSocket handshake.
    pub fn websocket_echo() -> Self {
        Reply::new(101).with(Body::WebSocketEcho)
    }

    /// `bytes` as they are, head and all, then the end of the connection.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Reply::new(0).with(Body::Raw(bytes.into()))
    }

    /// Sends `body`.
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        self.with(Body::Whole(body.into()))
    }

    /// Sends `items` one by one: the first one `every` after the head was due,
    /// each other one `every` after the one before.
    pub fn items<I>(self, items: I, every: Duration) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Bytes>,
    {
        let items = items.into_iter().map(Into::into).collect();
        self.with(Body::Items(items, every))
    }

    /// Sends what the test lets through `gate`.
    pub fn gated(self, gate: &Gate) -> Self {
        self.with(Body::Gated(gate.clone()))
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.headers.push(name, value);
        self
    }

    /// Adds a trailer; needs a chunked body.
    pub fn trailer(mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.trailers.push(name, value);
        self.declared = Declared::Chunked;
        self
    }

    /// Sends the body in chunks.
    pub fn chunked(mut self) -> Self {
        self.declared = Declared::Chunked;
        self
    }

    /// Declares `length` bytes, whatever the body has.
    pub fn content_length(mut self, length: u64) -> Self {
        self.declared = Declared::Length(length);
        self
    }

    /// Ends the body by closing the connection.
    pub fn until_close(mut self) -> Self {
        self.declared = Declared::UntilClose;
        self.afterwards = Afterwards::Close;
        self
    }

    /// Sends the head so long after the request arrived; the body is read by
    /// then as [`Reply::reading`] says.
    pub fn first_byte_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits with the head until `latch` opens, too.
    pub fn held_until(mut self, latch: &Latch) -> Self {
        self.hold = Some(latch.clone());
        self
    }

    /// Breaks off when `bytes` of the body were sent.
    pub fn cut_after(mut self, bytes: u64, how: Cut) -> Self {
        self.cut_after = Some((bytes, how));
        self
    }

    /// Chooses when the request's body is read.
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// Never sends `100 Continue`; by default it is sent when the reading
    /// begins and the client asked for it.
    pub fn without_continue(mut self) -> Self {
        self.continues = false;
        self
    }

    /// Chooses what becomes of the connection.
    pub fn afterwards(mut self, afterwards: Afterwards) -> Self {
        self.afterwards = afterwards;
        self
    }

    fn with(mut self, body: Body) -> Self {
        self.body = body;
        self
    }
}
