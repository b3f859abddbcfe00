use std::collections::BTreeMap;

use serde::Deserialize;

/// A dead letter as a list shows it.
#[derive(Debug, Deserialize)]
pub(super) struct Letter {
    pub(super) id: String,
    pub(super) deployment: String,
    pub(super) class: String,
    pub(super) fingerprint: String,
    pub(super) kind: String,
    pub(super) detail: String,
    pub(super) attempts: u32,
    pub(super) state: String,
    pub(super) outcome: Option<Outcome>,
    pub(super) not_replayable: Option<String>,
    pub(super) payload: Payload,
    #[serde(default)]
    pub(super) cut: Vec<String>,
    pub(super) first_seen: String,
    pub(super) last_seen: String,
    #[serde(default)]
    pub(super) failures: Vec<Failure>,
    pub(super) request: Option<Request>,
}

/// How the last replay of a letter ended.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    pub(super) result: String,
    #[serde(flatten)]
    rest: BTreeMap<String, yaml_serde::Value>,
}

impl Outcome {
    /// Whether it was answered.
    pub(super) fn is_answered(&self) -> bool {
        self.result == "answered"
    }

    /// The result with what is known beside it.
    pub(super) fn sentence(&self) -> String {
        let of = |key: &str| self.rest.get(key).and_then(word);
        let more = ["status", "kind", "detail"].into_iter().filter_map(of);
        let words: Vec<String> = std::iter::once(self.result.clone()).chain(more).collect();
        words.join(" ")
    }
}

fn word(value: &yaml_serde::Value) -> Option<String> {
    let number = value.as_u64().map(|number| number.to_string());
    number.or_else(|| value.as_str().map(str::to_owned))
}

/// What is kept of a payload; the content is shown of one letter alone.
#[derive(Debug, Deserialize)]
pub(super) struct Payload {
    pub(super) bytes: u64,
    pub(super) kept: bool,
    pub(super) encoding: Option<String>,
    pub(super) content: Option<String>,
    pub(super) shown_bytes: Option<u64>,
}

/// One failed attempt.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    pub(super) worker: String,
    pub(super) kind: String,
    pub(super) status: Option<u16>,
    pub(super) detail: String,
}

/// A request's head.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
}

/// Letters that failed alike.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    pub(super) fingerprint: String,
    pub(super) kind: String,
    pub(super) detail: String,
    pub(super) classes: Vec<String>,
    pub(super) deployments: Vec<String>,
    pub(super) letters: u64,
    pub(super) replayable: u64,
    pub(super) last_seen: String,
}
