use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::line::Line;
use super::{FrameSeen, Outcome, Record, Request, Seen, Written};
use crate::http1::websocket::Frame;
use crate::http1::{Headers, RequestHead, now};
use crate::watched::Watched;

/// What was seen, and who waits to see more.
#[derive(Debug, Default)]
pub(super) struct Log(Watched<State>);

#[derive(Debug, Default)]
struct State {
    seen: Seen,
    /// The lines of the requests that are being worked on, by number.
    working: HashMap<usize, Arc<Line>>,
}

impl Log {
    pub(super) fn seen(&self) -> Seen {
        self.0.read().seen.clone()
    }

    /// What was seen when `wanted` holds of it; `None` when it never does.
    pub(super) async fn until(&self, wanted: impl Fn(&Seen) -> bool) -> Option<Seen> {
        let look = || {
            let state = self.0.read();
            wanted(&state.seen).then(|| state.seen.clone())
        };
        self.0.until(look).await
    }

    /// Counts a connection in, until the guard goes.
    pub(super) fn connect(self: &Arc<Self>, line: Line) -> Connected {
        let number = self.0.change(|State { seen, .. }| {
            seen.connections += 1;
            seen.open_connections += 1;
            seen.connections - 1
        });
        Connected {
            log: self.clone(),
            number,
            line: Arc::new(line),
        }
    }
}

impl State {
    fn begin(&mut self, request: Request, line: Arc<Line>) {
        let number = request.number;
        self.seen.requests.push(Record::new(request, now()));
        self.working.insert(number, line);
        self.seen.in_flight = self.working.len();
        let with_peer = self.working.values().filter(|l| !l.peer_is_gone()).count();
        self.seen.most_in_flight = self.seen.most_in_flight.max(with_peer);
    }

    fn leave(&mut self, number: usize) {
        self.working.remove(&number);
        self.seen.in_flight = self.working.len();
    }
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct Connected {
    log: Arc<Log>,
    number: usize,
    line: Arc<Line>,
}

impl Connected {
    /// Counts a request in, until the guard goes.
    pub(super) fn request(&self, peer: SocketAddr, head: RequestHead) -> Visit {
        let number = self.log.0.change(|state| {
            let request = Request {
                number: state.seen.requests.len(),
                connection: self.number,
                peer,
                head,
            };
            let number = request.number;
            state.begin(request, self.line.clone());
            number
        });
        let log = self.log.clone();
        Visit { log, number }
    }

    pub(super) fn line(&self) -> &Line {
        &self.line
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.log.0.change(|state| state.seen.open_connections -= 1);
    }
}

/// A request that is being worked on; cut off unless [`Visit::end`] says how it ended.
#[derive(Debug)]
pub(super) struct Visit {
    log: Arc<Log>,
    number: usize,
}

impl Visit {
    pub(super) fn request(&self) -> Request {
        self.log.0.read().seen.requests[self.number].request.clone()
    }

    pub(super) fn body_piece(&self, bytes: usize) {
        self.note(|record, at| {
            record.body_bytes += bytes as u64;
            record.body_began.get_or_insert(at);
        });
    }

    pub(super) fn body_ended(&self, sha256: String, trailers: Headers) {
        self.note(|record, _| {
            record.body_sha256 = Some(sha256);
            record.trailers = trailers;
        });
    }

    pub(super) fn continued(&self) {
        self.note(|record, at| record.continued = Some(at));
    }

    pub(super) fn head_sent(&self) {
        self.note(|record, at| record.head_sent = Some(at));
    }

    pub(super) fn wrote(&self, piece: &Bytes) {
        let bytes = piece.len();
        self.note(|record, at| record.written.push(Written { bytes, at }));
    }

    pub(super) fn frame(&self, frame: &Frame) {
        let (opcode, bytes) = (frame.opcode, frame.payload.len());
        self.note(|record, at| record.frames.push(FrameSeen { opcode, bytes, at }));
    }

    /// The work is over: nothing follows but the bytes that say so. Told
    /// before they are written, so that whoever acts on them comes after.
    pub(super) fn leave(&self) {
        self.log.0.change(|state| state.leave(self.number));
    }

    pub(super) fn end(&self, outcome: Outcome) {
        self.log.0.change(|state| {
            state.leave(self.number);
            let record = &mut state.seen.requests[self.number];
            if record.is_running() {
                record.outcome = outcome;
                record.ended = Some(now());
            }
        });
    }

    fn note(&self, note: impl FnOnce(&mut Record, Instant)) {
        let at = now();
        self.log
            .0
            .change(|state| note(&mut state.seen.requests[self.number], at));
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.end(Outcome::Cut);
    }
}
