//! Where workers are answered.

mod cap;
mod claim;
mod result;

use std::sync::Arc;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde::de::DeserializeOwned;
use serde_json::json;
use thermocline_wire::fleet::{Failure, Refusal};

use crate::access::Account;
use crate::body::{Body, empty, json_body};
use crate::hub::Hub;

/// The largest claim or failure, bytes.
const LARGEST: usize = 64 * 1024;
/// How long such a body, or the head of a result, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most characters of a failure's detail.
const MOST_DETAIL: usize = 500;

/// Why a call of a worker is not answered as it would like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rebuff {
    /// In the protocol's words.
    Refused(Refusal),
    /// The call cannot be read.
    Malformed,
    /// There is no such call.
    NotFound,
}

impl From<Refusal> for Rebuff {
    fn from(refusal: Refusal) -> Self {
        Rebuff::Refused(refusal)
    }
}

impl Hub {
    /// Answers a call of a worker.
    pub(crate) async fn serve_worker(
        self: &Arc<Self>,
        request: Request<Incoming>,
    ) -> Response<Body> {
        match self.call(request).await {
            Ok(response) => response,
            Err(rebuff) => rebuff.response(),
        }
    }

    async fn call(self: &Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Rebuff> {
        let (head, body) = request.into_parts();
        let account = self.access.account(&head.headers).ok_or(Refusal::Auth)?;
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        match (&head.method, path.as_slice()) {
            (&Method::GET, ["v1", "access"]) => {
                let access = account.access();
                Ok(json_body(StatusCode::OK, "application/json", &access))
            }
            (&Method::GET, ["v1", "models", deployment]) => self.tell_model(account, deployment),
            (&Method::POST, ["v1", "jobs", job, call]) => {
                self.admit(account, job)?;
                match *call {
                    "claim" => self.claim(account, job, self.read(body).await?),
                    "result" => self.take_result(account, job, body).await,
                    "failure" => self.take_failure(account, job, self.read(body).await?),
                    _ => Err(Rebuff::NotFound),
                }
            }
            _ => Err(Rebuff::NotFound),
        }
    }

    /// Whether `account` may have to do with `job`.
    fn admit(&self, account: &Account, job: &str) -> Result<(), Refusal> {
        let deployment = self.lot().deployment(job);
        match deployment.is_none_or(|deployment| account.may_pull(&deployment)) {
            true => Ok(()),
            false => Err(Refusal::Forbidden),
        }
    }

    fn tell_model(&self, account: &Account, deployment: &str) -> Result<Response<Body>, Rebuff> {
        if !account.may_pull(deployment) {
            return Err(Refusal::Forbidden.into());
        }
        let model = self
            .deployments()
            .model(deployment)
            .ok_or(Rebuff::NotFound)?;
        Ok(json_body(StatusCode::OK, "application/json", &*model))
    }

    fn take_failure(
        &self,
        account: &Account,
        job: &str,
        mut failure: Failure,
    ) -> Result<Response<Body>, Rebuff> {
        if let Some((end, _)) = failure.detail.char_indices().nth(MOST_DETAIL) {
            failure.detail.truncate(end);
        }
        let now = self.clock.now();
        self.leave_seat(job, &failure);
        self.lot().fail(job, failure, &account.name, now)?;
        self.news.notify_one();
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// A call's body, small and in time.
    async fn read<T: DeserializeOwned>(&self, body: Incoming) -> Result<T, Rebuff> {
        let by = self.clock.now() + PATIENCE;
        let whole = self
            .clock
            .timeout_at(by, Limited::new(body, LARGEST).collect())
            .await;
        let whole = whole
            .map_err(|_| Rebuff::Malformed)?
            .map_err(|_| Rebuff::Malformed)?;
        serde_json::from_slice(&whole.to_bytes()).map_err(|_| Rebuff::Malformed)
    }
}

impl Rebuff {
    fn response(self) -> Response<Body> {
        let (status, code) = match self {
            Rebuff::Refused(refusal) => (status(refusal), json!(refusal)),
            Rebuff::Malformed => (StatusCode::BAD_REQUEST, json!("malformed")),
            Rebuff::NotFound => (StatusCode::NOT_FOUND, json!("not_found")),
        };
        let problem = json!({
            "type": "about:blank", "title": status.canonical_reason(),
            "status": status.as_u16(), "code": code,
        });
        let mut response = json_body(status, "application/problem+json", &problem);
        if self == Rebuff::Refused(Refusal::Undecided) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

fn status(refusal: Refusal) -> StatusCode {
    match refusal {
        Refusal::Auth => StatusCode::UNAUTHORIZED,
        Refusal::Forbidden => StatusCode::FORBIDDEN,
        Refusal::Abandoned => StatusCode::NOT_FOUND,
        Refusal::ClientLeft | Refusal::Expired | Refusal::Answered => StatusCode::GONE,
        Refusal::Superseded | Refusal::Capped => StatusCode::CONFLICT,
        Refusal::Undecided => StatusCode::TOO_EARLY,
        Refusal::Poison => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
