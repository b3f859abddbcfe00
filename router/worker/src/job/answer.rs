use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use thermocline_policy::Moment;
use thermocline_wire::fleet::{FailureKind, Grant, Job, LoadSpan, Refusal, ResultHead};

use super::execute::failed;
use super::{Bench, Outcome, PAUSES};
use crate::coding::{gzip, worth_compressing};
use crate::gateway::{CallError, Sent};
use crate::{Body, RunResponse};

/// A body of known length up to this travels in one piece.
const ONE_PIECE: u64 = 64 << 10;
/// The most of a fault's body that is read.
const MOST_WORDS: usize = 4 << 10;
/// How long a fault's body may take.
const WORDS_WITHIN: Duration = Duration::from_secs(2);

/// What a run waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// From the claim until the runtime was asked.
    pub(super) queue: Duration,
    /// Of that, for the model.
    pub(super) load: Duration,
    /// When the model's loading began, and when it ended.
    pub(super) loaded: (Moment, Moment),
}

impl Bench {
    /// Brings `response` to the gateway.
    pub(super) async fn answer(
        &self,
        job: &Job,
        grant: &Grant,
        response: RunResponse,
        times: Times,
    ) -> Outcome {
        if is_bodiless(&grant.method, response.status) {
            let head = head(grant, &response, times, self.clock.now());
            return self.piece(job, &head, Bytes::new()).await;
        }
        let length = known_length(&response.headers);
        let compress = worth_compressing(&response.headers);
        let mut head = head(grant, &response, times, self.clock.now());
        match compress.or(length.filter(|length| *length <= ONE_PIECE)) {
            None => self.stream(job, &head, response.body).await,
            Some(length) => {
                let Some(body) = whole(response.body, length).await else {
                    return broke_off();
                };
                let coded = compress.and_then(|_| gzip(&body));
                if coded.is_some() {
                    head.coding = "gzip".to_owned();
                }
                let body = coded.map_or(body, Bytes::from);
                self.piece(job, &head, body).await
            }
        }
    }

    /// Brings a body that is whole, again if the gateway was not reached: a
    /// result that was taken already is refused as such.
    async fn piece(&self, job: &Job, head: &ResultHead, body: Bytes) -> Outcome {
        let mut pauses = PAUSES.into_iter();
        loop {
            let sent = self.gateways.result(job, head, Sent::Whole(body.clone()));
            match (sent.await, pauses.next()) {
                (Ok(()), _) => return Outcome::Answered,
                (Err(CallError::Refused { refusal, .. }), _) => return refused(refusal),
                (Err(_), Some(pause)) => self.clock.sleep(pause).await,
                (Err(_), None) => return Outcome::Unwanted,
            }
        }
    }

    async fn stream(&self, job: &Job, head: &ResultHead, body: Body) -> Outcome {
        let broken = Arc::new(AtomicBool::new(false));
        let mark = broken.clone();
        let body = body.inspect(move |piece| {
            if piece.is_err() {
                mark.store(true, Ordering::Relaxed);
            }
        });
        let sent = self
            .gateways
            .result(job, head, Sent::Stream(Box::pin(body)));
        match sent.await {
            Ok(()) => Outcome::Answered,
            Err(_) if broken.load(Ordering::Relaxed) => broke_off(),
            Err(CallError::Refused { refusal, .. }) => refused(refusal),
            Err(_) => Outcome::Unwanted,
        }
    }

    /// A fault of the model's, with its own words.
    pub(super) async fn refused(&self, response: RunResponse) -> Outcome {
        let status = response.status;
        let until = self.clock.now() + WORDS_WITHIN;
        let words = self.clock.timeout_at(until, words(response.body)).await;
        let words = words.unwrap_or_default();
        let detail = format!("the model answered {}: {words}", status.as_u16());
        failed(FailureKind::RuntimeFailed, Some(status), &detail)
    }
}

fn head(grant: &Grant, response: &RunResponse, times: Times, now: Moment) -> ResultHead {
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    ResultHead {
        run: grant.run.clone(),
        status: response.status.as_u16(),
        headers: response.headers.iter().map(visible).collect(),
        coding: "identity".to_owned(),
        queue_ms: millis(times.queue),
        load_ms: millis(times.load),
        loaded: Some(LoadSpan {
            took_ms: millis(times.loaded.1.since(times.loaded.0)),
            ago_ms: millis(now.since(times.loaded.1)),
        }),
    }
}

fn visible((name, value): (&http::HeaderName, &http::HeaderValue)) -> (String, String) {
    let value = value.as_bytes().iter().map(|byte| char::from(*byte));
    (name.to_string(), value.collect())
}

/// A result that was taken already is no loss.
fn refused(refusal: Refusal) -> Outcome {
    match refusal {
        Refusal::Answered => Outcome::Answered,
        _ => Outcome::Unwanted,
    }
}

fn broke_off() -> Outcome {
    failed(FailureKind::RuntimeFailed, None, "the model broke off")
}

/// Whether the length that the head says is of a body that does not come: RFC 9110, 6.4.1.
fn is_bodiless(method: &str, status: StatusCode) -> bool {
    method == "HEAD" || status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED
}

fn known_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body of `length` bytes; `None` when it breaks off, or lies.
async fn whole(mut body: Body, length: u64) -> Option<Bytes> {
    let length = usize::try_from(length).ok()?;
    let mut all = BytesMut::with_capacity(length);
    while let Some(piece) = body.next().await {
        all.extend_from_slice(&piece.ok()?);
        (all.len() <= length).then_some(())?;
    }
    (all.len() == length).then(|| all.freeze())
}

async fn words(mut body: Body) -> String {
    let mut text = Vec::new();
    while let Some(Ok(piece)) = body.next().await {
        text.extend_from_slice(&piece);
        if text.len() >= MOST_WORDS {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
