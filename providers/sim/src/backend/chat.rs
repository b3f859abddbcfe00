//! Chat completions, of the shape that OpenAI's clients read.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::event_stream;
use super::respond::json_response;
use super::{Backend, ReplyBody};

/// The longest request that is understood, bytes.
const LONGEST: usize = 1 << 20;
/// The time between two chunks of a stream.
const GAP: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    model: String,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    stream: bool,
}

/// What every part of one completion repeats.
struct Completion {
    id: String,
    created: i64,
    model: String,
}

impl Backend {
    /// A completion, whole or as a stream.
    pub(super) async fn chat(&self, body: Incoming) -> Result<Response<ReplyBody>, hyper::Error> {
        let Ok(read) = Limited::new(body, LONGEST).collect().await else {
            return Ok(refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the request is too long",
            ));
        };
        let Ok(asked) = serde_json::from_slice::<Asked>(&read.to_bytes()) else {
            return Ok(refusal(
                StatusCode::BAD_REQUEST,
                "the request cannot be read",
            ));
        };
        self.work().await;
        let text = format!("Hello from {} on the {} tier.", self.deployment, self.tier);
        let words: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
        let completion = self.completion(asked.model);
        if asked.stream {
            return Ok(event_stream(
                completion.chunks(words),
                GAP,
                self.clock.clone(),
            ));
        }
        let used = asked.messages.iter().map(word_count).sum();
        Ok(json_response(
            StatusCode::OK,
            &completion.whole(&text, words.len(), used),
        ))
    }

    fn completion(&self, model: String) -> Completion {
        let micros = self.clock.wall_micros();
        Completion {
            id: format!("chatcmpl-{micros:x}"),
            created: micros / 1_000_000,
            model,
        }
    }
}

impl Completion {
    fn part(&self, object: &str, choice: Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": [choice],
        })
    }

    fn whole(&self, text: &str, completion_tokens: usize, prompt_tokens: usize) -> Value {
        let message = json!({"role": "assistant", "content": text});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        let mut whole = self.part("chat.completion", choice);
        whole["usage"] = json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        });
        whole
    }

    /// A chunk for each word, one that says it was the last, and the end mark.
    fn chunks(self, words: Vec<String>) -> impl Iterator<Item = String> + Send + 'static {
        let said = words.into_iter().map(|word| {
            let delta = json!({"role": "assistant", "content": word});
            json!({"index": 0, "delta": delta, "finish_reason": null})
        });
        let last = json!({"index": 0, "delta": {}, "finish_reason": "stop"});
        said.chain([last])
            .map(move |choice| self.part("chat.completion.chunk", choice).to_string())
            .chain(["[DONE]".to_owned()])
    }
}

/// The words of a message, as a stand-in for tokens.
fn word_count(message: &Value) -> usize {
    let content = message["content"].as_str().unwrap_or_default();
    content.split_whitespace().count()
}

fn refusal(status: StatusCode, message: &str) -> Response<ReplyBody> {
    let error = json!({"message": message, "type": "invalid_request_error", "code": null});
    json_response(status, &json!({"error": error}))
}
