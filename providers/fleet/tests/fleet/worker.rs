//! A worker that does what the test says.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use reqwest::{Client, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thermocline_broker::{Broker, Delivery, MemoryBroker};
use thermocline_wire::fleet::{Claim, Ending, Failure, FailureKind, Grant, Job, ResultHead, frame};

/// A worker that does what the test says.
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) token: String,
    /// Its gateway.
    pub(crate) url: String,
    pub(crate) broker: Arc<MemoryBroker>,
    pub(crate) client: Client,
}

/// A job in a worker's hands.
pub(crate) struct Held {
    pub(crate) job: Job,
    pub(crate) delivery: Delivery,
}

/// A claim that was granted.
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    pub(crate) payload: Bytes,
    rest: Frames,
}

impl Worker {
    /// The next job of `m`, once there is one.
    pub(crate) async fn take(&self) -> Held {
        loop {
            if let Some(delivery) = self.broker.take("m").await.unwrap() {
                let job = serde_json::from_slice(delivery.body()).unwrap();
                return Held { job, delivery };
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes the next job and claims it.
    pub(crate) async fn begin(&self) -> (Held, Granted) {
        let held = self.take().await;
        let granted = self.claim(&held).await.unwrap();
        (held, granted)
    }

    pub(crate) async fn claim(&self, held: &Held) -> Result<Granted, String> {
        self.claim_as(&held.job, "1", held.delivery.attempts())
            .await
    }

    pub(crate) async fn claim_as(
        &self,
        job: &Job,
        incarnation: &str,
        attempts: u32,
    ) -> Result<Granted, String> {
        let claim = Claim {
            worker: self.name.clone(),
            incarnation: incarnation.to_owned(),
            ticket: job.ticket.clone(),
            attempts,
        };
        let sent = self
            .call(&job.id, "claim")
            .json(&claim)
            .send()
            .await
            .unwrap();
        let mut rest = Frames::new(refused(sent).await?);
        let grant: Grant = rest.frame().await.unwrap();
        let payload = rest.bytes(grant.payload_bytes as usize).await.unwrap();
        Ok(Granted {
            grant,
            payload,
            rest,
        })
    }

    /// Posts a whole result.
    pub(crate) async fn answer(
        &self,
        job: &Job,
        run: &str,
        body: &'static str,
    ) -> Result<(), String> {
        let head = head(run, &[("content-type", "text/plain")]);
        self.post_result(job, &head, body.as_bytes().to_vec()).await
    }

    pub(crate) async fn post_result(
        &self,
        job: &Job,
        head: &ResultHead,
        body: Vec<u8>,
    ) -> Result<(), String> {
        let mut whole = frame(head).unwrap();
        whole.extend(body);
        self.post_body(job, whole.into()).await
    }

    pub(crate) async fn post_body(&self, job: &Job, body: reqwest::Body) -> Result<(), String> {
        let sent = self
            .call(&job.id, "result")
            .body(body)
            .send()
            .await
            .unwrap();
        refused(sent).await.map(drop)
    }

    pub(crate) async fn fail(
        &self,
        job: &Job,
        run: &str,
        kind: FailureKind,
        last: bool,
    ) -> Result<(), String> {
        let failure = Failure {
            run: run.to_owned(),
            worker: self.name.clone(),
            kind,
            status: None,
            detail: "it went wrong".to_owned(),
            last,
        };
        let sent = self
            .call(&job.id, "failure")
            .json(&failure)
            .send()
            .await
            .unwrap();
        refused(sent).await.map(drop)
    }

    pub(crate) fn call(&self, job: &str, call: &str) -> RequestBuilder {
        let url = format!("{}/v1/jobs/{job}/{call}", self.url);
        self.client.post(url).bearer_auth(&self.token)
    }

    pub(crate) async fn model(&self, deployment: &str) -> Result<Value, String> {
        let url = format!("{}/v1/models/{deployment}", self.url);
        let sent = self
            .client
            .get(url)
            .bearer_auth(&self.token)
            .send()
            .await
            .unwrap();
        Ok(refused(sent).await?.json().await.unwrap())
    }
}

impl Granted {
    /// Why the work is over, once it is.
    pub(crate) async fn ending(mut self) -> Ending {
        self.rest.frame().await.unwrap()
    }
}

/// The head of a result of `run`.
pub(crate) fn head(run: &str, headers: &[(&str, &str)]) -> ResultHead {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ResultHead {
        run: run.to_owned(),
        status: 200,
        headers: headers.collect(),
        coding: "identity".to_owned(),
        queue_ms: 1,
        load_ms: 0,
        loaded: None,
    }
}

/// The response, or the code of what was refused.
async fn refused(response: Response) -> Result<Response, String> {
    if response.status().is_success() {
        return Ok(response);
    }
    let problem: Value = response.json().await.unwrap();
    Err(problem["code"].as_str().unwrap().to_owned())
}

/// Frames out of a response that stays open.
struct Frames {
    pieces: futures_util::stream::BoxStream<'static, reqwest::Result<Bytes>>,
    unread: BytesMut,
}

impl Frames {
    fn new(response: Response) -> Self {
        Frames {
            pieces: response.bytes_stream().boxed(),
            unread: BytesMut::new(),
        }
    }

    async fn bytes(&mut self, count: usize) -> Option<Bytes> {
        while self.unread.len() < count {
            let piece = self.pieces.next().await?.ok()?;
            self.unread.extend_from_slice(&piece);
        }
        Some(self.unread.split_to(count).freeze())
    }

    async fn frame<T: DeserializeOwned>(&mut self) -> Option<T> {
        let length = self.bytes(4).await?;
        let length = u32::from_be_bytes(length.as_ref().try_into().unwrap());
        let json = self.bytes(length as usize).await?;
        serde_json::from_slice(&json).ok()
    }
}
