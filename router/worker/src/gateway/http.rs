use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::once;
use futures_util::{FutureExt, StreamExt};
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use thermocline_clock::Clock;
use thermocline_wire::fleet::{
    Access, Claim, Ending, Failure, Grant, Job, MOST_FRAME, Model, Refusal, ResultHead, frame,
};

use super::frames::Frames;
use super::{CallError, Gateways, Granted, Sent};

const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// For a call, and for each piece of a claim's response.
const CALL_LIMIT: Duration = Duration::from_secs(15);
/// After so long without a word a peer that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// The most bytes of a payload.
const MOST_PAYLOAD: u64 = 1 << 30;
/// The longest problem that is read, bytes.
const MOST_PROBLEM: usize = 64 << 10;

/// Gateways over HTTP, with one worker's token.
#[derive(Clone)]
pub struct HttpGateways {
    client: Client,
    token: Arc<str>,
    allowed: Arc<[String]>,
    clock: Clock,
}

#[derive(Deserialize)]
struct Problem {
    code: Refusal,
}

impl HttpGateways {
    /// Calls carry `token`. They go to the `allowed` reply addresses alone; to
    /// every one that a job names when there are none.
    pub fn new(token: &str, allowed: &[String], clock: Clock) -> Self {
        let builder = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .tcp_keepalive(KEEP_ALIVE);
        let allowed = allowed.iter().map(|url| trimmed(url).to_owned());
        HttpGateways {
            client: builder.build().unwrap_or_default(),
            token: token.into(),
            allowed: allowed.collect(),
            clock,
        }
    }

    fn request(
        &self,
        method: Method,
        reply_to: &str,
        path: &str,
    ) -> Result<RequestBuilder, CallError> {
        let base = trimmed(reply_to);
        if !self.allowed.is_empty() && !self.allowed.iter().any(|url| url == base) {
            tracing::warn!("a job names a gateway that this worker may not call");
            return Err(CallError::Unreachable);
        }
        let request = self.client.request(method, format!("{base}{path}"));
        Ok(request.bearer_auth(&self.token))
    }

    async fn read<T: DeserializeOwned>(&self, reply_to: &str, path: &str) -> Result<T, CallError> {
        let request = self.request(Method::GET, reply_to, path)?;
        let asked = async {
            let mut response = answered(request).await?;
            let text = bounded(&mut response, MOST_FRAME).await;
            let read = text.and_then(|text| serde_json::from_slice(&text).ok());
            read.ok_or(CallError::Unclear)
        };
        self.within(asked).await
    }

    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let deadline = self.clock.now() + CALL_LIMIT;
        let answered = self.clock.timeout_at(deadline, call).await;
        answered.unwrap_or(Err(CallError::Unclear))
    }

    /// The payload, as long as it is worth waiting for it.
    async fn payload(&self, frames: &mut Frames, grant: &Grant) -> Result<Bytes, CallError> {
        if grant.payload_bytes > MOST_PAYLOAD {
            return Err(CallError::Unclear);
        }
        let deadline = self.clock.now() + Duration::from_millis(grant.remaining_ms);
        let read = frames.bytes(grant.payload_bytes as usize);
        let payload = self.clock.timeout_at(deadline, read).await.ok().flatten();
        let payload = payload.ok_or(CallError::Unclear)?;
        let digest = Sha256::digest(&payload);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        match digest.eq_ignore_ascii_case(&grant.sha256) {
            true => Ok(payload),
            false => Err(CallError::Unclear),
        }
    }

    async fn granted(&self, response: Response) -> Result<Granted, CallError> {
        let mut frames = Frames::new(response, self.clock.clone(), CALL_LIMIT);
        let read = async { frames.frame().await.ok_or(CallError::Unclear) };
        let grant: Grant = self.within(read).await?;
        let payload = self.payload(&mut frames, &grant).await?;
        let ending = async move { frames.last().await.unwrap_or(Ending::Closing) };
        Ok(Granted {
            grant,
            payload,
            ending: ending.boxed(),
        })
    }
}

#[async_trait]
impl Gateways for HttpGateways {
    async fn claim(&self, job: &Job, claim: &Claim) -> Result<Granted, CallError> {
        let path = format!("/v1/jobs/{}/claim", job.id);
        let request = self.request(Method::POST, &job.reply_to, &path)?;
        let response = self.within(answered(request.json(claim))).await?;
        self.granted(response).await
    }

    async fn result(&self, job: &Job, head: &ResultHead, body: Sent) -> Result<(), CallError> {
        let path = format!("/v1/jobs/{}/result", job.id);
        let request = self.request(Method::POST, &job.reply_to, &path)?;
        let mut head = frame(head).map_err(|_| CallError::Unclear)?;
        let body = match body {
            Sent::Whole(body) => {
                head.extend_from_slice(&body);
                reqwest::Body::from(head)
            }
            Sent::Stream(body) => {
                let head = once(std::future::ready(Ok(Bytes::from(head))));
                reqwest::Body::wrap_stream(head.chain(body))
            }
        };
        answered(request.body(body)).await.map(|_| ())
    }

    async fn failure(&self, job: &Job, failure: &Failure) -> Result<(), CallError> {
        let path = format!("/v1/jobs/{}/failure", job.id);
        let request = self.request(Method::POST, &job.reply_to, &path)?;
        let told = self.within(answered(request.json(failure))).await;
        told.map(|_| ())
    }

    async fn model(&self, reply_to: &str, deployment: &str) -> Result<Model, CallError> {
        self.read(reply_to, &format!("/v1/models/{deployment}"))
            .await
    }

    async fn access(&self, reply_to: &str) -> Result<Access, CallError> {
        self.read(reply_to, "/v1/access").await
    }
}

/// The response to `request`, if it is no refusal.
async fn answered(request: RequestBuilder) -> Result<Response, CallError> {
    let response = request
        .send()
        .await
        .map_err(|error| match error.is_connect() {
            true => CallError::Unreachable,
            false => CallError::Unclear,
        })?;
    match response.status().is_success() {
        true => Ok(response),
        false => Err(refused(response).await),
    }
}

async fn refused(mut response: Response) -> CallError {
    let retry_after = response.headers().get(RETRY_AFTER);
    let seconds = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    let text = bounded(&mut response, MOST_PROBLEM).await;
    match text.and_then(|text| serde_json::from_slice::<Problem>(&text).ok()) {
        Some(problem) => CallError::Refused {
            refusal: problem.code,
            retry_after: seconds.map(Duration::from_secs),
        },
        None => CallError::Unclear,
    }
}

async fn bounded(response: &mut Response, most: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        (text.len() + piece.len() <= most).then_some(())?;
        text.extend_from_slice(&piece);
    }
    Some(text)
}

fn trimmed(url: &str) -> &str {
    url.trim_end_matches('/')
}
