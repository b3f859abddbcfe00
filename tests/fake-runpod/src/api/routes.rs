//! Which call does what.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::pages::page;
use super::{Answer, Call};
use crate::catalog::{GPUS, Gpu, describe_cpus, describe_gpu};
use crate::problem::Problem;
use crate::service::Service;

pub(crate) async fn control(service: &Arc<Service>, call: &Call) -> Answer {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let Some((&"v2", path)) = path.split_first() else {
        return Err(Problem::not_found());
    };
    match (call.method.as_str(), path) {
        ("GET", ["pods"]) => page(service, "pods", service.pods(), &call.query),
        ("POST", ["pods"]) => made(service.create_pod(&call.body)),
        ("GET", ["pods", id]) => fine(service.seen_pod(id)),
        ("PATCH", ["pods", id]) => fine(service.update_pod(id, &call.body)),
        ("DELETE", ["pods", id]) => gone(service.delete_pod(id)),
        ("POST", ["pods", id, "action"]) => match service.act_on_pod(id, &call.body)? {
            Some(pod) => fine(Ok(pod)),
            None => gone(Ok(())),
        },
        ("GET", ["serverless"]) => page(service, "endpoints", service.endpoints(), &call.query),
        ("POST", ["serverless"]) => made(service.create_endpoint(&call.body)),
        ("GET", ["serverless", id]) => fine(service.seen_endpoint(id)),
        ("PATCH", ["serverless", id]) => fine(service.update_endpoint(id, &call.body)),
        ("DELETE", ["serverless", id]) => gone(service.delete_endpoint(id)),
        ("GET", ["serverless", id, "workers"]) => fine(service.workers(id)),
        ("GET", ["catalog", "gpus"]) => fine(gpus(service, &call.query)),
        ("GET", ["catalog", "cpus"]) => fine(Ok(json!({ "cpus": describe_cpus() }))),
        ("GET", ["billing", kind @ ("pods" | "serverless")]) => fine(Ok(billing(service, kind))),
        (_, ["pods" | "serverless", ..]) => Err(Problem::new(405, "method not allowed")),
        _ => Err(Problem::not_found()),
    }
}

fn fine(answer: Result<Value, Problem>) -> Answer {
    answer.map(|body| (StatusCode::OK, Some(body)))
}

fn made(answer: Result<Value, Problem>) -> Answer {
    answer.map(|body| (StatusCode::CREATED, Some(body)))
}

fn gone(answer: Result<(), Problem>) -> Answer {
    answer.map(|()| (StatusCode::NO_CONTENT, None))
}

fn gpus(service: &Service, query: &str) -> Result<Value, Problem> {
    let has = |pair: &str| query.split('&').any(|it| it == pair);
    let asked = has("include=AVAILABILITY");
    if asked && !query.contains("product=") {
        return Err(Problem::new(400, "include=AVAILABILITY requires product"));
    }
    let faults = service.faults();
    let describe = |gpu: &Gpu| describe_gpu(gpu, asked.then(|| !faults.out_of(&[gpu.0])));
    Ok(json!({ "gpus": GPUS.iter().map(describe).collect::<Vec<_>>() }))
}

fn billing(service: &Service, kind: &str) -> Value {
    let now = service.clock.now();
    let state = service.lock();
    let pods = state
        .pods
        .iter()
        .map(|(id, pod)| (id.clone(), pod.spent(now)));
    let endpoints = state
        .endpoints
        .values()
        .map(|it| (it.id.clone(), it.spent()));
    let running: Vec<(String, f64)> = match kind {
        "pods" => pods.collect(),
        _ => endpoints.collect(),
    };
    let name = if kind == "pods" {
        "podId"
    } else {
        "endpointId"
    };
    let record = |(id, usd): &(String, f64)| json!({ name: id, "totalAmount": usd });
    let records: Vec<Value> = running.iter().chain(&state.bills).map(record).collect();
    let count = records.len();
    json!({ "records": records, "metadata": { "query": {}, "recordCount": count } })
}

pub(crate) async fn jobs(service: &Arc<Service>, call: &Call) -> Answer {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let ["v2", id, rest @ ..] = path.as_slice() else {
        return Err(Problem::not_found());
    };
    let endpoint = service.endpoint(id).ok_or_else(Problem::not_found)?;
    if !endpoint.queue {
        return Err(Problem::new(400, "not allowed for LB API"));
    }
    let write = call.method == Method::POST;
    match rest {
        ["run"] if write => {
            let job = service.submit(&endpoint, &call.body, false)?;
            fine(Ok(json!({ "id": job.id, "status": "IN_QUEUE" })))
        }
        ["runsync"] if write => {
            let wait = wait_of(&call.query)?;
            let job = service.submit(&endpoint, &call.body, true)?;
            fine(Ok(service.await_end(&job, wait).await))
        }
        ["status", job] => fine(service.job_status(&endpoint, job)),
        ["stream", job] => fine(service.job_stream(&endpoint, job)),
        ["cancel", job] if write => fine(service.cancel_job(&endpoint, job)),
        ["purge-queue"] if write => fine(Ok(service.purge_queue(&endpoint))),
        ["health"] => fine(Ok(service.job_counts(&endpoint))),
        _ => Err(Problem::not_found()),
    }
}

/// How long `/runsync` waits: `wait=` milliseconds, 1,000 to 300,000.
fn wait_of(query: &str) -> Result<Duration, Problem> {
    let Some(text) = query.split('&').find_map(|pair| pair.strip_prefix("wait=")) else {
        return Ok(Duration::from_millis(90_000));
    };
    let wait = text
        .parse()
        .ok()
        .filter(|ms| (1_000..=300_000).contains(ms));
    let wait = wait.ok_or_else(|| Problem::new(400, "wait must be 1000 to 300000"))?;
    Ok(Duration::from_millis(wait))
}
