use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use thermocline_wire::fleet::{FailureKind, Grant, Job};
use tokio::sync::oneshot;

use super::answer::Times;
use super::{Bench, Failed, Outcome, tidy};
use crate::event::{Event, Permit, Run, Wish};
use crate::runtime::end_to_end;
use crate::{LoadError, RunError, RunRequest};

/// A job whose model is not ready within this holds no permit while it waits.
const READY_AT_ONCE: Duration = Duration::from_millis(20);

impl Bench {
    /// Has the model, a permit, and then the response: in this order.
    pub(super) async fn execute(
        &self,
        job: &Job,
        grant: &Grant,
        payload: Bytes,
        mut permit: Option<Permit>,
    ) -> Outcome {
        let delivered = self.clock.now();
        let Some(request) = request(grant, payload) else {
            return failed(FailureKind::Rejected, None, "the request cannot be read");
        };
        let run = match self.model(job, grant, &mut permit).await {
            Ok(run) => run,
            Err(error) => return failed(error.kind(), None, &error.to_string()),
        };
        let loaded = self.clock.now();
        let Some(_permit) = self.permit(permit).await else {
            return Outcome::Unwanted;
        };
        let times = Times {
            queue: self.clock.now().since(delivered),
            load: match run.waited {
                true => loaded.since(delivered),
                false => Duration::ZERO,
            },
            loaded: run.loaded,
        };
        self.runs.fetch_add(1, Ordering::Relaxed);
        match self.runtime.run(&job.deployment, request).await {
            Err(error) => failed(kind(error), None, &error.to_string()),
            Ok(response) if is_failure(response.status) => self.refused(response).await,
            Ok(response) => self.answer(job, grant, response, times).await,
        }
    }

    /// Waits until the model is ready, without a permit if that takes time.
    async fn model(
        &self,
        job: &Job,
        grant: &Grant,
        permit: &mut Option<Permit>,
    ) -> Result<Run, LoadError> {
        let (answer, mut answered) = oneshot::channel();
        let _agent_ended = self.events.send(Event::Wants(Wish {
            deployment: job.deployment.clone(),
            generation: grant.generation.clone(),
            reply_to: job.reply_to.clone(),
            answer,
            since: self.clock.now(),
            waits: false,
        }));
        let soon = self.clock.now() + READY_AT_ONCE;
        let answer = match self.clock.timeout_at(soon, &mut answered).await {
            Ok(answer) => answer,
            Err(_) => {
                self.let_go(permit);
                answered.await
            }
        };
        let ended = || LoadError::OutOfCapacity("the worker ends".into());
        answer.unwrap_or_else(|_| Err(ended()))
    }

    async fn permit(&self, permit: Option<Permit>) -> Option<Permit> {
        match permit {
            Some(permit) => Some(permit),
            None => self.permits.clone().acquire_owned().await.ok(),
        }
    }
}

/// What the runtime is asked; `None` when the grant holds no request.
fn request(grant: &Grant, payload: Bytes) -> Option<RunRequest> {
    let mut headers = HeaderMap::with_capacity(grant.headers.len());
    for (name, value) in &grant.headers {
        let name: HeaderName = name.parse().ok()?;
        headers.append(name, HeaderValue::from_bytes(&latin1(value)?).ok()?);
    }
    Some(RunRequest {
        method: Method::from_bytes(grant.method.as_bytes()).ok()?,
        target: grant.target.parse().ok()?,
        headers: end_to_end(headers),
        payload,
    })
}

fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect()
}

/// Answers that say nothing about the request: another attempt may end otherwise.
fn is_failure(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

fn kind(error: RunError) -> FailureKind {
    match error {
        RunError::Died => FailureKind::RuntimeDied,
        RunError::BrokeOff => FailureKind::RuntimeFailed,
        RunError::NotLoaded => FailureKind::OutOfCapacity,
    }
}

pub(super) fn failed(kind: FailureKind, status: Option<StatusCode>, detail: &str) -> Outcome {
    Outcome::Failed(Failed {
        kind,
        status: status.map(|status| status.as_u16()),
        detail: tidy(detail),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_request_is_an_answer_and_a_fault_is_none() {
        for status in [200, 204, 301, 400, 404, 413, 422] {
            assert!(
                !is_failure(StatusCode::from_u16(status).unwrap()),
                "{status}"
            );
        }
        for status in [408, 429, 500, 502, 503, 504] {
            assert!(
                is_failure(StatusCode::from_u16(status).unwrap()),
                "{status}"
            );
        }
    }

    #[test]
    fn header_values_come_back_byte_by_byte() {
        assert_eq!(latin1("caf\u{e9}").unwrap(), b"caf\xe9");
        assert_eq!(latin1("\u{20ac}"), None);
    }
}
