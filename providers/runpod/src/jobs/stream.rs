//! Jobs whose output comes in pieces.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::answer::{Body, Refusal};
use super::ask::Ask;
use super::job::{Chunk, Jobs, Said, Stage, timed_out};
use super::pace::{Asker, Pace};

/// Chunks that wait for a slow client.
const AHEAD: usize = 64;
/// Answers in a row that say nothing, after which an endpoint is given up.
const MOST_SILENCES: u32 = 20;

type Piece = Result<Bytes, Refusal>;

/// Submits the job and answers with its events, once the first has come or the
/// job has ended.
pub(super) async fn answer(
    jobs: Jobs,
    ask: Ask,
    limit: Duration,
    pace: Pace,
) -> Result<Response<Body>, Refusal> {
    let (pieces, mut read) = channel(AHEAD);
    tokio::spawn(async move {
        match jobs.submit(&ask, limit).await {
            Ok(said) => follow(&jobs, &said.id, limit, &pace, &pieces).await,
            Err(refusal) => drop(pieces.send(Err(refusal)).await),
        }
    });
    match read.recv().await {
        Some(Err(refusal)) => Err(refusal),
        first => Ok(events(first.and_then(Result::ok), read)),
    }
}

/// Passes on what the job says until it ends; cancels it when nobody listens.
async fn follow(jobs: &Jobs, job: &str, limit: Duration, pace: &Pace, pieces: &Sender<Piece>) {
    let passed = tokio::select! {
        passed = pass_on(jobs, job, limit, pace, pieces) => passed,
        () = pieces.closed() => Err(None),
    };
    if let Err(refusal) = passed {
        if refusal.as_ref().is_none_or(Refusal::leaves_the_job) {
            jobs.cancel(job).await;
        }
        if let Some(refusal) = refusal {
            drop(pieces.send(Err(refusal)).await);
        }
    }
}

/// Ends with the refusal that ended the job; `None` when nobody listens.
async fn pass_on(
    jobs: &Jobs,
    job: &str,
    limit: Duration,
    pace: &Pace,
    pieces: &Sender<Piece>,
) -> Result<(), Option<Refusal>> {
    let (asker, began) = (pace.enter(), jobs.now());
    let (mut silences, mut flows, mut any) = (0, false, false);
    loop {
        let elapsed = jobs.now().since(began);
        if elapsed >= limit {
            return Err(Some(timed_out()));
        }
        match jobs.stream(job).await {
            None if silences == MOST_SILENCES => return Err(Some(Refusal::unreachable())),
            None => silences += 1,
            Some(said) => {
                silences = 0;
                any |= !said.stream.is_empty();
                match send(&said, pieces).await? {
                    true if any => return Ok(()),
                    true => return send_output(jobs, job, pieces).await,
                    false => {}
                }
                flows = said.stage() != Stage::Queued;
            }
        }
        let pause = if flows {
            asker.shortest()
        } else {
            asker.pause(elapsed)
        };
        jobs.sleep(pause.max(Asker::after_silence(silences))).await;
    }
}

/// Passes on the chunks of an answer; whether they were the last.
async fn send(said: &Said, pieces: &Sender<Piece>) -> Result<bool, Option<Refusal>> {
    for chunk in &said.stream {
        pieces.send(Ok(event(chunk))).await.map_err(|_| None)?;
    }
    match said.stage() {
        Stage::Done(_) => Ok(true),
        Stage::Ended(refusal) => Err(Some(refusal)),
        Stage::Queued | Stage::Running => Ok(false),
    }
}

/// A worker that yields nothing has its result as its output, which a stream
/// does not show: it is the one event.
async fn send_output(
    jobs: &Jobs,
    job: &str,
    pieces: &Sender<Piece>,
) -> Result<(), Option<Refusal>> {
    let mut silences = 0;
    let said = loop {
        match jobs.status(job).await {
            Some(said) => break said,
            None if silences == MOST_SILENCES => return Err(Some(Refusal::unreachable())),
            None => silences += 1,
        }
        jobs.sleep(Asker::after_silence(silences)).await;
    };
    let output = match said.stage() {
        Stage::Done(Value::Null) => return Ok(()),
        Stage::Done(output) => output,
        Stage::Ended(refusal) => return Err(Some(refusal)),
        Stage::Queued | Stage::Running => return Err(Some(Refusal::unreachable())),
    };
    let event = event(&Chunk { output });
    pieces.send(Ok(event)).await.map_err(|_| None)
}

/// A chunk as an event; one that is an event already stays as it is.
fn event(chunk: &Chunk) -> Bytes {
    match &chunk.output {
        Value::String(text) if text.starts_with("data:") => {
            Bytes::from(format!("{}\n\n", text.trim_end_matches('\n')))
        }
        other => Bytes::from(format!("data: {other}\n\n")),
    }
}

/// The response: what has come, and what is still to come. A job that fails
/// now breaks it off, so that nobody takes it for whole.
fn events(first: Option<Bytes>, rest: Receiver<Piece>) -> Response<Body> {
    let pieces = unfold((first, rest), |(first, mut rest)| async move {
        let piece = match first {
            Some(piece) => Ok(piece),
            None => rest
                .recv()
                .await?
                .map_err(|refusal| io::Error::other(refusal.detail)),
        };
        Some((piece.map(Frame::data), (None, rest)))
    });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(pieces)));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
