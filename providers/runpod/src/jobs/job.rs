//! One job: submitted, asked after, cancelled.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::Value;
use thermocline_policy::Moment;
use url::Url;

use super::answer::Refusal;
use super::ask::Ask;
use crate::account::Account;
use crate::id::usable;

/// How long one call may take.
const CALL_LIMIT: Duration = Duration::from_secs(15);
/// How long a submission waits for its result: the least that RunPod allows.
pub(super) const SUBMIT_WAIT: Duration = Duration::from_millis(1_000);
/// The longest answer that is read, bytes.
const LONGEST: usize = 64 << 20;

/// What RunPod says of a job.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) output: Value,
    #[serde(default)]
    pub(super) error: Option<Value>,
    /// The chunks of a stream.
    #[serde(default)]
    pub(super) stream: Vec<Chunk>,
}

/// One chunk of a stream.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) output: Value,
}

/// How a job stands.
#[derive(Debug, PartialEq)]
pub(super) enum Stage {
    Queued,
    Running,
    Done(Value),
    Ended(Refusal),
}

impl Said {
    pub(super) fn stage(&self) -> Stage {
        match self.status.as_str() {
            "IN_QUEUE" => Stage::Queued,
            "COMPLETED" => Stage::Done(self.output.clone()),
            "FAILED" => Stage::Ended(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "job_failed",
                self.words("the job failed"),
            )),
            "TIMED_OUT" => Stage::Ended(timed_out()),
            "CANCELLED" => Stage::Ended(Refusal::new(
                StatusCode::BAD_GATEWAY,
                "job_cancelled",
                "the job was cancelled at RunPod",
            )),
            _ => Stage::Running,
        }
    }

    /// What the worker said of its failure.
    fn words(&self, usual: &str) -> String {
        match &self.error {
            Some(Value::String(text)) => text.chars().take(2_000).collect(),
            Some(Value::Null) | None => usual.to_owned(),
            Some(other) => other.to_string().chars().take(2_000).collect(),
        }
    }
}

/// The job ran, or waited, for too long.
pub(super) fn timed_out() -> Refusal {
    Refusal::new(
        StatusCode::GATEWAY_TIMEOUT,
        "job_timed_out",
        "the job took too long",
    )
}

/// The jobs of one endpoint.
#[derive(Clone)]
pub(super) struct Jobs {
    account: Arc<Account>,
    base: Url,
}

impl Jobs {
    /// Those of `endpoint` at the job API `base`.
    pub(super) fn of(account: &Arc<Account>, base: &Url, endpoint: &str) -> Option<Self> {
        let mut base = base.clone();
        base.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(["v2", usable(endpoint)?]);
        Some(Jobs {
            account: account.clone(),
            base,
        })
    }

    /// The moment.
    pub(super) fn now(&self) -> Moment {
        self.account.clock.now()
    }

    pub(super) async fn sleep(&self, pause: Duration) {
        self.account.clock.sleep(pause).await;
    }

    /// Submits a job. One that is waited for is answered when it is over, or
    /// after a second; one that streams at once.
    pub(super) async fn submit(&self, ask: &Ask, limit: Duration) -> Result<Said, Refusal> {
        let path = if ask.streams { ["run"] } else { ["runsync"] };
        let mut url = self.url(&path);
        if !ask.streams {
            let wait = SUBMIT_WAIT.as_millis().to_string();
            url.query_pairs_mut().append_pair("wait", &wait);
        }
        let body = ask.body(limit.as_millis() as u64);
        let request = self.account.client.post(url).json(&body);
        let request = self
            .account
            .authorized(request)
            .timeout(CALL_LIMIT + SUBMIT_WAIT);
        let response = request.send().await.map_err(|_| Refusal::unreachable())?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(status));
        }
        let said = read(response).await.ok_or_else(Refusal::unreachable)?;
        match usable(&said.id).is_some() {
            true => Ok(said),
            false => Err(Refusal::unreachable()),
        }
    }

    /// Asks after a job; `None` when there was no answer that says anything.
    pub(super) async fn status(&self, job: &str) -> Option<Said> {
        self.ask(Method::GET, &["status", job]).await
    }

    /// The chunks that came since the last call.
    pub(super) async fn stream(&self, job: &str) -> Option<Said> {
        self.ask(Method::GET, &["stream", job]).await
    }

    /// Cancels a job, whatever becomes of it.
    pub(super) async fn cancel(&self, job: &str) {
        if self.ask(Method::POST, &["cancel", job]).await.is_none() {
            // Its time to live ends it in any case.
            tracing::warn!(job, "a job whose client has left could not be cancelled");
        }
    }

    /// Sends what is passed on to the worker as it is: `path` with `query`.
    pub(super) async fn pass_on(
        &self,
        method: Method,
        path: &[&str],
        query: Option<&str>,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, Refusal> {
        let mut url = self.url(path);
        url.set_query(query);
        let request = self
            .account
            .client
            .request(method, url)
            .headers(headers)
            .body(body);
        let response = self.account.authorized(request).send().await;
        response.map_err(|_| Refusal::unreachable())
    }

    /// What the endpoint says of itself.
    ///
    /// # Errors
    /// Where there is none, or it does not answer.
    pub(super) async fn health(&self) -> Result<Value, Refusal> {
        let request = self.account.client.get(self.url(&["health"]));
        let request = self.account.authorized(request).timeout(CALL_LIMIT);
        let response = request.send().await.map_err(|_| Refusal::unreachable())?;
        match response.status().as_u16() {
            200..=299 => {}
            401 | 403 => return Err(Refusal::no_key()),
            404 => return Err(Refusal::no_endpoint()),
            _ => return Err(Refusal::unreachable()),
        }
        let said = bounded(response).await;
        let said = said.and_then(|said| serde_json::from_slice(&said).ok());
        said.ok_or_else(Refusal::unreachable)
    }

    async fn ask(&self, method: Method, path: &[&str; 2]) -> Option<Said> {
        let request = self.account.client.request(method, self.url(path));
        let response = self
            .account
            .authorized(request)
            .timeout(CALL_LIMIT)
            .send()
            .await
            .ok()?;
        match response.status().as_u16() {
            // Its time to live is over.
            404 => Some(Said {
                status: "TIMED_OUT".to_owned(),
                ..Said::default()
            }),
            200..=299 => read(response).await,
            _ => None,
        }
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(path);
        }
        url
    }
}

/// A submission that was not accepted.
fn refused(status: StatusCode) -> Refusal {
    match status.as_u16() {
        400 | 422 => Refusal::new(StatusCode::BAD_REQUEST, "invalid", "RunPod refused the job"),
        401 | 403 => Refusal::no_key(),
        404 => Refusal::no_endpoint(),
        413 => Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the job is too large",
        ),
        429 => Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "too many jobs at a time",
        ),
        _ => Refusal::unreachable(),
    }
}

/// An answer about a job; a stream may also be a bare list of chunks.
async fn read(response: Response) -> Option<Said> {
    let body = bounded(response).await?;
    serde_json::from_slice(&body).ok().or_else(|| {
        let stream = serde_json::from_slice::<Vec<Chunk>>(&body).ok()?;
        Some(Said {
            status: "IN_PROGRESS".to_owned(),
            stream,
            ..Said::default()
        })
    })
}

async fn bounded(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        (body.len() + chunk.len() <= LONGEST).then_some(())?;
        body.extend_from_slice(&chunk);
    }
    Some(body)
}
