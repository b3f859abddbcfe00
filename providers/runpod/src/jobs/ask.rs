//! From an HTTP request to a job.

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, HeaderMap};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::answer::Refusal;

/// The largest job that is waited for, bytes.
const LARGEST: usize = 20_000_000;
/// The largest job that is streamed, bytes.
const LARGEST_STREAMED: usize = 10_000_000;
/// What the job's own fields add to a body, bytes.
const FRAME: usize = 1_024;
/// The longest time that a policy may name: seven days.
const LONGEST_MS: u64 = 604_800_000;
/// How much longer than it may run a job is known.
const GRACE_MS: u64 = 15_000;

/// What a job is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    pub(super) input: Value,
    pub(super) streams: bool,
}

/// Reads the whole of `body`, within what a job may be.
pub(super) async fn whole(body: Incoming) -> Result<Bytes, Refusal> {
    match Limited::new(body, LARGEST).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large("20 MB")),
        Err(_) => Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "invalid",
            "the body broke off",
        )),
    }
}

/// The job that `body` asks for: its `input`, where it has one, else all of it.
pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Ask, Refusal> {
    let said: Value = serde_json::from_slice(body).map_err(|_| {
        let detail = "an endpoint of type QUEUE takes JSON";
        Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", detail)
    })?;
    let accepts = |value: &http::HeaderValue| {
        value
            .to_str()
            .is_ok_and(|text| text.contains("text/event-stream"))
    };
    let input = match said {
        Value::Object(mut fields) if fields.contains_key("input") => {
            fields.remove("input").unwrap_or_default()
        }
        other => other,
    };
    let streams = input["stream"] == true || headers.get_all(ACCEPT).iter().any(accepts);
    let limit = if streams { LARGEST_STREAMED } else { LARGEST };
    match body.len() + FRAME > limit {
        true => Err(too_large(if streams {
            "10 MB when it streams"
        } else {
            "20 MB"
        })),
        false => Ok(Ask { input, streams }),
    }
}

impl Ask {
    /// The body of the submission; the job may run for `limit_ms`. RunPod forgets
    /// it a little later, should nobody be left to cancel it.
    pub(super) fn body(&self, limit_ms: u64) -> Value {
        let policy = json!({
            "executionTimeout": limit_ms.clamp(5_000, LONGEST_MS),
            "ttl": (limit_ms + GRACE_MS).clamp(10_000, LONGEST_MS),
        });
        json!({ "input": self.input, "policy": policy })
    }
}

fn too_large(limit: &str) -> Refusal {
    let detail = format!("a job of an endpoint of type QUEUE may have {limit} at most");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_plain(body: &str) -> Result<Ask, Refusal> {
        read(&HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn a_body_is_the_input_unless_it_has_one() {
        assert_eq!(
            read_plain(r#"{"prompt":"x"}"#).unwrap().input,
            json!({ "prompt": "x" })
        );
        assert_eq!(
            read_plain(r#"{"input":{"prompt":"x"}}"#).unwrap().input,
            json!({ "prompt": "x" })
        );
        assert!(!read_plain("[1]").unwrap().streams);
        assert!(read_plain(r#"{"input":{"stream":true}}"#).unwrap().streams);
        assert_eq!(
            read_plain("<html>").unwrap_err().status,
            StatusCode::UNSUPPORTED_MEDIA_TYPE
        );
    }

    #[test]
    fn who_accepts_events_gets_a_stream_of_at_most_ten_megabytes() {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, http::HeaderValue::from_static("text/event-stream"));
        assert!(read(&headers, b"{}").unwrap().streams);
        let large = format!("\"{}\"", "x".repeat(LARGEST_STREAMED));
        let refusal = read(&headers, large.as_bytes()).unwrap_err();
        assert_eq!(refusal.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(refusal.detail.contains("10 MB"), "{}", refusal.detail);
        assert!(read_plain(&large).is_ok());
    }

    #[test]
    fn the_deadline_becomes_the_policy() {
        let ask = read_plain("1").unwrap();
        assert_eq!(
            ask.body(30_000)["policy"],
            json!({ "executionTimeout": 30_000, "ttl": 45_000 })
        );
        assert_eq!(
            ask.body(1)["policy"],
            json!({ "executionTimeout": 5_000, "ttl": 15_001 })
        );
    }
}
