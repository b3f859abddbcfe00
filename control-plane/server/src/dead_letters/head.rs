//! What may be kept of a request's head: everything but what lets somebody in.

use serde::{Deserialize, Serialize};
use serde_json::json;
use thermocline_provider::fleet::ParkedRequest;
use thermocline_wire::fleet::{credential_in_query, is_credential};

use crate::secrets::{Redaction, Secrets};

/// A request's head as it is archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    /// Target and headers as they were sent, sealed, where a secret that the
    /// server knows stands in them; empty where it could not be sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

impl Head {
    /// A request's head without credentials, and what was left out. Secrets that
    /// `redaction` knows are hidden, and what they stand in is kept as `seal` seals it.
    pub(super) fn of(
        request: &ParkedRequest,
        redaction: &Redaction,
        seal: impl FnOnce(&str) -> Option<String>,
    ) -> (Head, Vec<String>) {
        let (sent, cut) = without_credentials(request);
        let shown = sent.hidden(redaction);
        let sealed = (shown != sent).then(|| {
            let text = json!((&sent.target, &sent.headers)).to_string();
            seal(&text).unwrap_or_default()
        });
        (Head { sealed, ..shown }, cut)
    }

    /// As it was sent; `None` where a secret in it cannot be had any more.
    pub(super) fn opened(self, letter: &str, secrets: &Secrets) -> Option<Head> {
        let Some(sealed) = &self.sealed else {
            return Some(self);
        };
        let text = secrets.open_text(&row(letter), sealed)?;
        let (target, headers) = serde_json::from_str(&text).ok()?;
        Some(Head {
            target,
            headers,
            sealed: None,
            ..self
        })
    }

    fn hidden(&self, redaction: &Redaction) -> Head {
        let clean = |text: &String| redaction.clean(text).into_owned();
        let headers = self.headers.iter();
        Head {
            target: clean(&self.target),
            headers: headers
                .map(|(name, value)| (name.clone(), clean(value)))
                .collect(),
            ..self.clone()
        }
    }
}

/// What a letter's sealed head is bound to.
pub(super) fn row(letter: &str) -> String {
    format!("dead-letter/{letter}")
}

fn without_credentials(request: &ParkedRequest) -> (Head, Vec<String>) {
    let mut cut = Vec::new();
    let mut headers = Vec::new();
    for (name, value) in &request.headers {
        if is_credential(name, value) {
            cut.push(format!("header {}", name.to_lowercase()));
        } else {
            headers.push((name.clone(), value.clone()));
        }
    }
    let head = Head {
        method: request.method.clone(),
        target: without_secret_query(&request.target, &mut cut),
        headers,
        sealed: None,
    };
    (head, cut)
}

/// `target` without the parts of its query that are credentials.
fn without_secret_query(target: &str, cut: &mut Vec<String>) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let credential = credential_in_query(pair);
            cut.extend(
                credential
                    .iter()
                    .map(|name| format!("query {}", name.to_lowercase())),
            );
            credential.is_none()
        })
        .collect();
    match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
    }
}

#[cfg(test)]
mod tests;
