//! A dead letter as it is archived.

use serde_json::{Value, json};
use thermocline_policy::fleet::{Class, FailureKind, classify, fingerprint};
use thermocline_provider::fleet::{Cause, DeadLetter};
use thermocline_store::{DeadLetterCause, NewDeadLetter};
use thermocline_wire::fleet::{self, Failure, Obituary};

use super::head::Head;
use crate::secrets::Redaction;

/// The most failures that are kept of one job.
const MOST_FAILURES: usize = 50;
/// The most characters of what was said of a failure.
const LONGEST_DETAIL: usize = 500;
/// What is said where nobody lived to tell.
const UNSETTLED: &str = "it was delivered too often without being settled";

/// What is kept of `letter`: its payload up to `max_payload` bytes, nothing
/// that lets somebody in, and no secret but as `seal` seals it.
pub(super) fn record(
    letter: &DeadLetter,
    max_payload: u64,
    redaction: &Redaction,
    seal: impl FnOnce(&str) -> Option<String>,
) -> NewDeadLetter {
    let obituary = obituary(&letter.cause);
    let failures = failures(letter, obituary.as_ref(), redaction);
    let (kind, status, detail) = last_of(&failures);
    let request = request(letter, max_payload, redaction, seal);
    NewDeadLetter {
        id: letter.job.id.clone(),
        deployment: match &letter.request {
            Some(request) => request.deployment.clone(),
            None => letter.job.deployment.clone(),
        },
        class: class(&failures, obituary.as_ref()),
        fingerprint: fingerprint(kind, status, detail).to_string(),
        cause: match letter.cause {
            Cause::GivenUp(_) => DeadLetterCause::GivenUp,
            Cause::Undeliverable => DeadLetterCause::Undeliverable,
        },
        kind: kind.as_str().to_owned(),
        detail: detail.to_owned(),
        attempts: letter.attempts,
        failures: Value::from_iter(failures.iter().map(failure_json)).to_string(),
        head: request.head.map(|head| json!(head).to_string()),
        payload_bytes: i64::try_from(request.bytes).unwrap_or(i64::MAX),
        payload: request.payload,
        cut: json!(request.cut).to_string(),
    }
}

fn obituary(cause: &Cause) -> Option<Obituary> {
    match cause {
        Cause::GivenUp(report) => serde_json::from_slice(report).ok(),
        Cause::Undeliverable => None,
    }
}

/// Everything that is known to have gone wrong, oldest first: the gateway's
/// account, or the workers' where its gateway knows nothing of the job.
fn failures(
    letter: &DeadLetter,
    obituary: Option<&Obituary>,
    redaction: &Redaction,
) -> Vec<Failure> {
    let known = match letter.failures.is_empty() {
        true => &letter.job.failures,
        false => &letter.failures,
    };
    let last = obituary.map(|it| &it.failure);
    let untold = last.filter(|last| !known.iter().any(|it| tells_of(it, last)));
    let all: Vec<Failure> = known
        .iter()
        .chain(untold)
        .map(|failure| clean(failure, redaction))
        .collect();
    all[all.len().saturating_sub(MOST_FAILURES)..].to_vec()
}

/// Whether `one` tells of what a worker said last; where it was told makes no
/// difference. Of a lost worker only the gateway knows: who says so after it
/// repeats it.
fn tells_of(one: &Failure, last: &Failure) -> bool {
    let lost = fleet::FailureKind::WorkerLost;
    (one.kind == lost && last.kind == lost)
        || (&one.worker, one.kind, one.status, &one.detail)
            == (&last.worker, last.kind, last.status, &last.detail)
}

fn clean(failure: &Failure, redaction: &Redaction) -> Failure {
    let detail = redaction.clean(&failure.detail);
    Failure {
        detail: detail.chars().take(LONGEST_DETAIL).collect(),
        ..failure.clone()
    }
}

fn last_of(failures: &[Failure]) -> (FailureKind, Option<u16>, &str) {
    match failures.last() {
        Some(last) => (last.kind.into(), last.status, &last.detail),
        None => (FailureKind::WorkerLost, None, UNSETTLED),
    }
}

/// The worse of what the worker and the failures say.
fn class(failures: &[Failure], obituary: Option<&Obituary>) -> Class {
    let history: Vec<_> = failures.iter().map(Into::into).collect();
    let said = obituary.map_or(Class::Transient, |it| it.class.into());
    said.max(classify(&history))
}

fn failure_json(failure: &Failure) -> Value {
    json!({
        "worker": failure.worker,
        "kind": failure.kind,
        "status": failure.status,
        "detail": failure.detail,
    })
}

/// What is kept of a request.
struct Kept {
    head: Option<Head>,
    payload: Option<Vec<u8>>,
    bytes: u64,
    cut: Vec<String>,
}

fn request(
    letter: &DeadLetter,
    max_payload: u64,
    redaction: &Redaction,
    seal: impl FnOnce(&str) -> Option<String>,
) -> Kept {
    let Some(request) = &letter.request else {
        return Kept {
            head: None,
            payload: None,
            bytes: letter.job.payload_bytes,
            cut: vec!["request".to_owned()],
        };
    };
    let (head, mut cut) = Head::of(request, redaction, seal);
    let bytes = request.payload.len() as u64;
    let payload = (bytes <= max_payload).then(|| request.payload.to_vec());
    if payload.is_none() {
        cut.push("payload".to_owned());
    }
    Kept {
        head: Some(head),
        payload,
        bytes,
        cut,
    }
}

#[cfg(test)]
mod tests;
