//! A worker's result on its way to the client.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use thermocline_policy::{HEAD_BY_HEADER, Moment, WHOLE_BY_HEADER};
use thermocline_wire::fleet::FailureKind;
use tokio::sync::{mpsc, oneshot};

use crate::body::{Body, full};
use crate::excuse::{End, Excuse};
use crate::headers;
use crate::hub::Hub;
use crate::intake::millis;
use crate::parked::{Answer, BrokeOff, Piece};
use crate::room::Place;

/// A client that is closed upon so shortly before its deadline is one whose
/// deadline passed: the gateway waits for the same moment.
const SAME_MOMENT: Duration = Duration::from_millis(20);

/// A request's stay, from its place to the end of its answer. However it ends,
/// dropping this is what ends and counts it.
pub(crate) struct Stay {
    hub: Arc<Hub>,
    /// The job's, once it is parked.
    pub(crate) id: Option<String>,
    deadline: Moment,
    /// How it ended; when it is dropped without, the client left, or the
    /// gateway's patience was over.
    pub(crate) end: Option<End>,
    /// How long the gateway waits, where it says so.
    pub(crate) patience: Option<Patience>,
    answering: bool,
    _place: Place,
}

impl Stay {
    pub(crate) fn new(hub: Arc<Hub>, deadline: Moment, place: Place) -> Self {
        Stay {
            hub,
            id: None,
            deadline,
            end: None,
            patience: None,
            answering: false,
            _place: place,
        }
    }

    /// How it ended that nobody has ended: the connection was closed upon.
    fn cut(&self) -> End {
        let clock = &self.hub.clock;
        let is_over = match &self.patience {
            Some(patience) => patience.is_over(self.answering, clock.wall() + SAME_MOMENT),
            None => clock.now() + SAME_MOMENT >= self.deadline,
        };
        match is_over {
            true => Excuse::Deadline.into(),
            false => End::ClientLeft,
        }
    }
}

/// Until when the gateway waits, milliseconds since 1970. What it sends may be
/// read late, so how much was left then is no measure of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    head_by: u64,
    whole_by: u64,
}

impl Patience {
    /// As the headers say; `None` when they do not.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let millis = |name| headers.get(name)?.to_str().ok()?.parse().ok();
        Some(Patience {
            head_by: millis(HEAD_BY_HEADER)?,
            whole_by: millis(WHOLE_BY_HEADER)?,
        })
    }

    fn is_over(self, answering: bool, now: SystemTime) -> bool {
        let by = match answering {
            true => self.whole_by,
            false => self.head_by,
        };
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap_or_default() >= Duration::from_millis(by)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let end = self.end.unwrap_or_else(|| self.cut());
        let mut lot = self.hub.lot();
        match &self.id {
            Some(id) => lot.leave(id, end),
            None => lot.tally.count(end.result()),
        }
        drop(lot);
        self.hub.news.notify_one();
    }
}

/// The response that `answer` becomes. A request without an end to its answer
/// is over when its stay is dropped.
///
/// # Errors
/// What the client reads instead of a status that is none.
pub(crate) fn response(
    answer: Answer,
    method: &str,
    mut stay: Stay,
) -> Result<Response<Body>, Excuse> {
    let status = StatusCode::from_u16(answer.head.status).ok();
    let Some(status) = status.filter(|status| !status.is_informational()) else {
        let excuse = Excuse::Failed(FailureKind::RuntimeFailed);
        stay.end = Some(excuse.into());
        return Err(excuse);
    };
    let mut headers = headers::of_result(&answer.head.headers);
    stay.answering = true;
    if let Some(timing) = timing(&answer) {
        headers.append(HeaderName::from_static("server-timing"), timing);
    }
    let bodiless =
        method == "HEAD" || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    let left = match bodiless {
        true => Some(0),
        false => length(&headers),
    };
    let delivery = Delivery {
        body: answer.body,
        taken: Some(answer.taken),
        left,
        stay,
    };
    let mut response = Response::new(match left {
        Some(0) => full(Bytes::new()),
        _ => delivery.into_body(),
    });
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// How long the fleet took to begin, for people who look at one response.
fn timing(answer: &Answer) -> Option<HeaderValue> {
    let (waited, load) = (millis(answer.waited), millis(answer.loading));
    let queue = waited.saturating_add(answer.head.queue_ms);
    HeaderValue::from_str(&format!("queue;dur={queue}, load;dur={load}")).ok()
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A result's body while it is passed on.
struct Delivery {
    body: mpsc::Receiver<Piece>,
    taken: Option<oneshot::Sender<()>>,
    /// Bytes to come, where the head says how many. Whoever reads stops after
    /// them, and never sees the end of the body.
    left: Option<u64>,
    stay: Stay,
}

impl Delivery {
    fn into_body(self) -> Body {
        let pieces = unfold(self, |mut delivery| async move {
            let piece = delivery.next().await?;
            Some((piece.map(Frame::data), delivery))
        });
        StreamBody::new(pieces).boxed_unsync()
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let clock = &self.stay.hub.clock;
        let piece = clock.timeout_at(self.stay.deadline, self.body.recv()).await;
        match piece {
            Ok(Some(Some(bytes))) => {
                let length = bytes.len() as u64;
                self.left = self.left.map(|left| left.saturating_sub(length));
                Some(Ok(bytes))
            }
            Ok(Some(None)) if self.left.is_none_or(|left| left == 0) => {
                self.left = Some(0);
                None
            }
            Ok(Some(None) | None) => {
                self.stay.end = Some(End::BrokeOff);
                Some(Err(io::Error::other(BrokeOff)))
            }
            Err(_) => {
                self.stay.end = Some(Excuse::Deadline.into());
                Some(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if self.left == Some(0) && self.stay.end.is_none() {
            self.stay.end = Some(End::Answered);
            let _told = self.taken.take().map(|taken| taken.send(()));
        }
    }
}
