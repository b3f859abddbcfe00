//! A server that answers what it is told to, and the binary to ask it.

use std::collections::{HashMap, VecDeque};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply(u16, &'static str, String);

/// A JSON answer.
pub(crate) fn json_reply(status: u16, body: &Value) -> Reply {
    Reply(status, "application/json", body.to_string())
}

/// A page of a list, the last one.
pub(crate) fn list(items: &Value) -> Reply {
    json_reply(200, &json!({ "items": items, "next": null }))
}

/// A problem+json answer.
pub(crate) fn problem(status: u16, detail: &str) -> Reply {
    let body = json!({ "title": "A problem", "status": status, "detail": detail, "code": "x", "request_id": "r1" });
    Reply(status, "application/problem+json", body.to_string())
}

/// Any other answer.
pub(crate) fn raw(status: u16, kind: &'static str, body: &str) -> Reply {
    Reply(status, kind, body.to_owned())
}

/// An event stream that ends after `body`.
pub(crate) fn stream(body: &str) -> Reply {
    raw(200, "text/event-stream", body)
}

/// A call that came in.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// As in `GET /api/v1/deployments?limit=5`.
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug, Default)]
struct Script {
    replies: HashMap<String, VecDeque<Reply>>,
    calls: Vec<Call>,
}

/// The server.
pub(crate) struct Stub {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
}

impl Stub {
    /// Answers each call with the replies given for it, in order; the last one stays.
    pub(crate) async fn start<const N: usize>(replies: [(&str, Reply); N]) -> Self {
        let mut script = Script::default();
        for (line, reply) in replies {
            script
                .replies
                .entry(line.to_owned())
                .or_default()
                .push_back(reply);
        }
        let script = Arc::new(Mutex::new(script));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Stub { url, script }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.script.lock().unwrap().calls.clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.line).collect()
    }

    /// Runs the binary against this server.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        run(&self.url, args, &[]).await
    }
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let line = format!("{method} {uri}");
    let mut script = script.lock().unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    script.calls.push(Call {
        line: line.clone(),
        headers,
        body,
    });
    // A query may hold the time of now: a reply for the path alone does too.
    let path = format!("{method} {}", uri.path());
    let known = script.replies.contains_key(&line);
    let Some(replies) = script.replies.get_mut(if known { &line } else { &path }) else {
        return (StatusCode::NOT_IMPLEMENTED, format!("no reply for {line}")).into_response();
    };
    let only = replies.len() == 1;
    let Reply(status, kind, body) = if only {
        replies[0].clone()
    } else {
        replies.pop_front().unwrap()
    };
    (
        StatusCode::from_u16(status).unwrap(),
        [(header::CONTENT_TYPE, kind)],
        body,
    )
        .into_response()
}

/// What a run of the binary left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the binary against `server`.
pub(crate) async fn run(server: &str, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_thermocline"))
        .args(args)
        .env_remove("THERMOCLINE_TOKEN")
        .env("THERMOCLINE_SERVER", server)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A run that went well and said `out`.
pub(crate) fn said(out: &str) -> Ran {
    Ran {
        code: 0,
        out: out.to_owned(),
        err: String::new(),
    }
}

/// A run that ended with `code` and complained of `err`.
pub(crate) fn failed(code: i32, err: &str) -> Ran {
    Ran {
        code,
        out: String::new(),
        err: err.to_owned(),
    }
}

/// A deployment as the server shows it.
pub(crate) fn deployment(name: &str, state: &str) -> Value {
    json!({
        "name": name, "generation": 3,
        "created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-02T10:00:00Z",
        "spec": { "name": name, "image": "acme/sdxl:1.4" },
        "status": {
            "state": state, "tier": null, "reason": null, "rps": 0.0,
            "in_flight": 0, "waiting": 0, "instances": []
        }
    })
}

/// The same with a pod that runs.
pub(crate) fn on_a_pod(name: &str) -> Value {
    let mut deployment = deployment(name, "running");
    deployment["status"] = json!({
        "state": "running", "tier": "pod", "reason": "pod_warm", "rps": 0.24, "in_flight": 2, "waiting": 1,
        "instances": [{
            "id": "i1", "provider": "runpod", "tier": "pod", "state": "ready",
            "since": "2026-03-02T10:01:00Z", "usd_per_hour": 1.2
        }]
    });
    deployment
}
