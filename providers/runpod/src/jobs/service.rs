//! What a request to the translator is answered with.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::Value;
use subtle::ConstantTimeEq;
use thermocline_clock::Clock;
use thermocline_policy::REMAINING_HEADER;
use thermocline_provider::ProviderError;
use tokio::sync::oneshot;
use url::Url;

use super::answer::{Body, Refusal, json};
use super::ask::{self, Ask};
use super::job::{Jobs, Stage, timed_out};
use super::pace::{Asker, Pace};
use super::{openai, stream};
use crate::account::Account;
use crate::address::{ENDPOINT, TOKEN};
use crate::error::invalid;
use crate::settings::Settings;

/// Answers in a row that say nothing, after which an endpoint is given up.
const MOST_SILENCES: u32 = 20;

/// Turns requests into jobs.
pub(super) struct Service {
    account: Arc<Account>,
    base: Url,
    token: String,
    limit: Duration,
    pace: Pace,
}

impl Service {
    pub(super) fn new(
        account: Arc<Account>,
        settings: &Settings,
        token: String,
    ) -> Result<Self, ProviderError> {
        let base = Url::parse(&settings.job_url).ok();
        let base = base.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        Ok(Service {
            account,
            base: base
                .ok_or_else(|| invalid("the job API's URL must be http or https with a host"))?,
            token,
            limit: settings.job_timeout,
            pace: Pace::default(),
        })
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.account.clock
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match self.translate(request).await {
            Ok(response) => response,
            Err(refusal) => refusal.response(),
        }
    }

    async fn translate(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let jobs = self.admitted(request.headers())?;
        if openai::is_route(request.uri().path()) {
            return openai::pass_on(&jobs, request).await;
        }
        match *request.method() {
            Method::GET | Method::HEAD => Ok(json(StatusCode::OK, &jobs.health().await?)),
            Method::POST => {
                let (head, body) = request.into_parts();
                let limit = self.limit_of(&head.headers);
                let ask = ask::read(&head.headers, &ask::whole(body).await?)?;
                match ask.streams {
                    true => stream::answer(jobs, ask, limit, self.pace.clone()).await,
                    false => self.wait_for(jobs, ask, limit).await,
                }
            }
            _ => Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "an endpoint of type QUEUE takes POST, and GET for its health",
            )),
        }
    }

    /// How long the request's job may take: what is left of the client's
    /// deadline, and never more than the configuration allows.
    fn limit_of(&self, headers: &HeaderMap) -> Duration {
        let left = headers
            .get(REMAINING_HEADER)
            .and_then(|it| it.to_str().ok());
        let left = left.and_then(|text| text.parse().ok());
        left.map_or(self.limit, |left| {
            self.limit.min(Duration::from_millis(left))
        })
    }

    /// The jobs of the endpoint that the headers name, for the token's holder.
    fn admitted(&self, headers: &HeaderMap) -> Result<Jobs, Refusal> {
        let header = |name: &str| headers.get(name).map_or(&b""[..], |value| value.as_bytes());
        if !bool::from(header(TOKEN).ct_eq(self.token.as_bytes())) {
            return Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "auth",
                "the token is missing or wrong",
            ));
        }
        let endpoint = std::str::from_utf8(header(ENDPOINT)).unwrap_or_default();
        let unknown = || Refusal::new(StatusCode::BAD_REQUEST, "invalid", "no endpoint is named");
        Jobs::of(&self.account, &self.base, endpoint).ok_or_else(unknown)
    }

    /// The job's output. The submission goes on when the client leaves, since
    /// only its answer says what is to be cancelled.
    async fn wait_for(
        &self,
        jobs: Jobs,
        ask: Ask,
        limit: Duration,
    ) -> Result<Response<Body>, Refusal> {
        let (mut told, tells) = oneshot::channel();
        let pace = self.pace.clone();
        tokio::spawn(async move {
            let (began, submitted) = (jobs.now(), jobs.submit(&ask, limit).await);
            let said = match submitted {
                Ok(said) => said,
                Err(refusal) => return drop(told.send(Err(refusal))),
            };
            let ended = tokio::select! {
                ended = end(&jobs, said.stage(), &said.id, began + limit, &pace) => Some(ended),
                () = told.closed() => None,
            };
            match ended {
                Some(Ok(output)) => drop(told.send(Ok(output))),
                Some(Err(refusal)) => {
                    if refusal.leaves_the_job() {
                        jobs.cancel(&said.id).await;
                    }
                    drop(told.send(Err(refusal)));
                }
                None => jobs.cancel(&said.id).await,
            }
        });
        let output: Value = tells.await.map_err(|_| Refusal::unreachable())??;
        Ok(json(StatusCode::OK, &output))
    }
}

/// Waits for the end of `job`, whose first answer was `stage`.
async fn end(
    jobs: &Jobs,
    mut stage: Stage,
    job: &str,
    deadline: thermocline_policy::Moment,
    pace: &Pace,
) -> Result<Value, Refusal> {
    let (asker, began) = (pace.enter(), jobs.now());
    let (mut silences, mut queued) = (0, false);
    loop {
        let now = jobs.now();
        match stage {
            Stage::Done(output) => return Ok(output),
            Stage::Queued => queued = true,
            Stage::Running => queued = false,
            // It is forgotten when its time to live is over.
            Stage::Ended(refusal) if refusal == timed_out() && queued => {
                return Err(unserved(jobs.health().await.ok()));
            }
            Stage::Ended(refusal) => return Err(refusal),
        }
        if now >= deadline {
            stage = Stage::Ended(timed_out());
            continue;
        }
        let pause = asker
            .pause(now.since(began))
            .max(Asker::after_silence(silences));
        jobs.sleep(pause.min(now.until(deadline))).await;
        stage = match jobs.status(job).await {
            Some(said) => {
                silences = 0;
                said.stage()
            }
            None if silences == MOST_SILENCES => return Err(Refusal::unreachable()),
            None => {
                silences += 1;
                if queued {
                    Stage::Queued
                } else {
                    Stage::Running
                }
            }
        };
    }
}

/// No worker took the job: `health` says how many wait for hardware, and how
/// many crash as they start.
fn unserved(health: Option<Value>) -> Refusal {
    let workers = health
        .map(|health| health["workers"].clone())
        .unwrap_or_default();
    let count = |key: &str| workers[key].as_u64().unwrap_or(0);
    let detail = format!(
        "no worker took the job in time; throttled: {}, unhealthy: {}",
        count("throttled"),
        count("unhealthy"),
    );
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, "job_timed_out", detail)
}
