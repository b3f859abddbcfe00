use std::time::Instant;

use crate::http1::Headers;
use crate::http1::websocket::Opcode;

use super::Request;

/// How an exchange ended, as the backend saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Running,
    /// The response ended as it should.
    Complete,
    /// The peer was gone before that.
    PeerLeft,
    /// The script or the test broke it off.
    Cut,
}

/// A WebSocket frame that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSeen {
    /// What it was.
    pub opcode: Opcode,
    /// Bytes of payload.
    pub bytes: usize,
    /// When it was whole.
    pub at: Instant,
}

/// A piece of the response's body that was handed to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes of it.
    pub bytes: usize,
    /// When the socket had taken them.
    pub at: Instant,
}

/// Everything seen of one request.
#[derive(Debug, Clone)]
pub struct Record {
    /// The request without its body.
    pub request: Request,
    /// When its head was whole.
    pub arrived: Instant,
    /// Bytes of its body read until now.
    pub body_bytes: u64,
    /// When the first of them came.
    pub body_began: Option<Instant>,
    /// SHA-256 of the whole body in hexadecimal, once its end was read.
    pub body_sha256: Option<String>,
    /// The request's trailers, once the body's end was read.
    pub trailers: Headers,
    /// When `100 Continue` was sent.
    pub continued: Option<Instant>,
    /// When the response's head was sent.
    pub head_sent: Option<Instant>,
    /// The pieces of the response's body.
    pub written: Vec<Written>,
    /// The WebSocket frames that came in.
    pub frames: Vec<FrameSeen>,
    /// How it ended.
    pub outcome: Outcome,
    /// When it ended.
    pub ended: Option<Instant>,
}

impl Record {
    pub(super) fn new(request: Request, arrived: Instant) -> Self {
        Record {
            request,
            arrived,
            body_bytes: 0,
            body_began: None,
            body_sha256: None,
            trailers: Headers::default(),
            continued: None,
            head_sent: None,
            written: Vec::new(),
            frames: Vec::new(),
            outcome: Outcome::Running,
            ended: None,
        }
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.request.method()
    }

    /// The path.
    pub fn path(&self) -> &str {
        self.request.path()
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.header(name)
    }

    /// Whether the peer was gone before the response had ended.
    pub fn peer_left(&self) -> bool {
        self.outcome == Outcome::PeerLeft
    }

    /// Whether the exchange goes on.
    pub fn is_running(&self) -> bool {
        self.outcome == Outcome::Running
    }
}

/// Everything that a backend has seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The requests in order of arrival.
    pub requests: Vec<Record>,
    /// How many connections were accepted.
    pub connections: usize,
    /// How many of them are open.
    pub open_connections: usize,
    /// How many requests are being worked on.
    pub in_flight: usize,
    /// The most that ever were at once.
    pub most_in_flight: usize,
}

impl Seen {
    /// The requests to `path`.
    pub fn to<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Record> {
        self.requests.iter().filter(move |r| r.path() == path)
    }

    /// How many requests to `path` came.
    pub fn count(&self, path: &str) -> usize {
        self.to(path).count()
    }
}
