use std::io;
use std::time::Duration;

use async_compression::tokio::bufread::GzipDecoder;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt, TryStreamExt, iter};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use thermocline_wire::fleet::{MOST_FRAME, Refusal, ResultHead};
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, oneshot};
use tokio_util::io::{ReaderStream, StreamReader};

use super::{PATIENCE, Rebuff};
use crate::access::Account;
use crate::body::{Body, empty};
use crate::hub::Hub;
use crate::parked::{Answer, Piece, Reply};

/// Pieces of a result that wait for a slow client.
const AHEAD: usize = 8;
/// The largest piece that comes out of a decoder, bytes.
const DECODED: usize = 64 * 1024;

type Pieces = BoxStream<'static, io::Result<Bytes>>;

impl Hub {
    /// Passes a result on to the client; answered when the client has it.
    pub(super) async fn take_result(
        &self,
        account: &Account,
        job: &str,
        body: Incoming,
    ) -> Result<Response<Body>, Rebuff> {
        let by = self.clock.now() + PATIENCE;
        let opened = self.clock.timeout_at(by, open(body)).await;
        let (head, pieces) = opened.map_err(|_| Rebuff::Malformed)??;
        let (client, arrived, waited) = self.lot().answer(job, &head.run, &account.name)?;
        let age = self.clock.now().since(arrived);
        let (send, receive) = mpsc::channel(AHEAD);
        let (taken, told) = oneshot::channel();
        let answer = Answer {
            loading: loading(&head, waited, age),
            head,
            waited,
            body: receive,
            taken,
        };
        if client.send(Reply::Answer(answer)).is_err() {
            return Err(Refusal::ClientLeft.into());
        }
        let whole = pass_on(pieces, send).await;
        match (whole, told.await) {
            (_, Ok(())) => Ok(empty(StatusCode::NO_CONTENT)),
            (true, Err(_)) => Err(Refusal::ClientLeft.into()),
            (false, Err(_)) => Err(Rebuff::Malformed),
        }
    }
}

/// How long of what a request of `age` spent in the fleet before its run, `waited`
/// for the claim and then at the worker, its model was being loaded.
fn loading(head: &ResultHead, waited: Duration, age: Duration) -> Duration {
    let millis = Duration::from_millis;
    let Some(load) = head.loaded else {
        return millis(head.load_ms);
    };
    // Everything as how long ago it was.
    let run = age.saturating_sub(waited.saturating_add(millis(head.queue_ms)));
    let (began, ended) = (load.ago_ms.saturating_add(load.took_ms), load.ago_ms);
    millis(began)
        .min(age)
        .saturating_sub(millis(ended).max(run))
}

/// Passes `pieces` on as the client takes them; whether they came to their end.
async fn pass_on(mut pieces: Pieces, client: mpsc::Sender<Piece>) -> bool {
    loop {
        let piece = tokio::select! {
            piece = pieces.next() => piece,
            () = client.closed() => return true,
        };
        let Ok(piece) = piece.transpose() else {
            return false;
        };
        let whole = piece.is_none();
        if client.send(piece).await.is_err() || whole {
            return true;
        }
    }
}

/// Reads a result's head; the body's pieces are as the client is to get them.
async fn open(body: Incoming) -> Result<(ResultHead, Pieces), Rebuff> {
    let data = body.into_data_stream().map_err(io::Error::other);
    let mut reader = StreamReader::new(data.boxed());
    let head = head(&mut reader).await.ok_or(Rebuff::Malformed)?;
    let pieces = match head.coding.as_str() {
        "identity" => as_they_come(reader),
        "gzip" => ReaderStream::with_capacity(GzipDecoder::new(reader), DECODED).boxed(),
        _ => return Err(Rebuff::Malformed),
    };
    Ok((head, pieces))
}

async fn head<S>(reader: &mut StreamReader<S, Bytes>) -> Option<ResultHead>
where
    S: Stream<Item = io::Result<Bytes>> + Unpin,
{
    let length = usize::try_from(reader.read_u32().await.ok()?).ok()?;
    if length > MOST_FRAME {
        return None;
    }
    let mut json = vec![0; length];
    reader.read_exact(&mut json).await.ok()?;
    serde_json::from_slice(&json).ok()
}

fn as_they_come(reader: StreamReader<Pieces, Bytes>) -> Pieces {
    let (rest, begun) = reader.into_inner_with_chunk();
    let begun = begun.filter(|chunk| !chunk.is_empty()).map(Ok);
    iter(begun).chain(rest).boxed()
}

#[cfg(test)]
mod tests {
    use thermocline_wire::fleet::LoadSpan;

    use super::*;

    /// Of 10 s, 6 s in the queue and 1 s at the worker, what a load of `took` that
    /// ended `ago` is told as, seconds.
    fn told(took: u64, ago: u64) -> u64 {
        let head = ResultHead {
            run: String::new(),
            status: 200,
            headers: Vec::new(),
            coding: "identity".to_owned(),
            queue_ms: 1_000,
            load_ms: 0,
            loaded: Some(LoadSpan {
                took_ms: took * 1_000,
                ago_ms: ago * 1_000,
            }),
        };
        let second = Duration::from_secs;
        loading(&head, second(6), second(10)).as_secs()
    }

    #[test]
    fn a_load_counts_as_far_as_the_request_was_there_and_had_not_begun() {
        assert_eq!(told(4, 4), 4, "it waited in the queue");
        assert_eq!(told(60, 4), 6, "it came in the middle of it");
        assert_eq!(
            told(4, 1),
            2,
            "it ended after the run began, as of a model loaded anew"
        );
        assert_eq!(told(4, 10), 0, "it was warm");
        assert_eq!(told(4, 3_600), 0);
    }
}
