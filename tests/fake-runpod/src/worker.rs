//! What the image answers, on a pod or on a worker.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use serde_json::json;
use thermocline_clock::Clock;

/// The header in which an image expects the secret that it was started with.
const SECRET: &str = "x-thermocline-backend-secret";

/// The image, as it was started.
pub(crate) struct Image {
    pub(crate) clock: Clock,
    pub(crate) service_time: Duration,
    /// Requests without it are refused, when the image checks one.
    pub(crate) secret: Option<String>,
    pub(crate) id: String,
}

/// One request as the image sees it.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Image {
    /// Answers: `?sse=N&gap_ms=T` with N events, everything else with what was asked.
    pub(crate) async fn answer(&self, asked: Asked) -> axum::response::Response {
        let given = asked
            .headers
            .get(SECRET)
            .and_then(|value| value.to_str().ok());
        if self.secret.is_some() && self.secret.as_deref() != given {
            return (StatusCode::UNAUTHORIZED, "the secret is missing\n").into_response();
        }
        if ["/ping", "/ready", "/health", "/"].contains(&asked.path.as_str())
            && asked.method == "GET"
        {
            return (StatusCode::OK, "ready\n").into_response();
        }
        if let Some(events) = parameter(&asked.query, "sse") {
            return self.events(events, parameter(&asked.query, "gap_ms").unwrap_or(20));
        }
        let time = parameter(&asked.query, "ms").map_or(self.service_time, Duration::from_millis);
        self.clock.sleep(time).await;
        let body = json!({
            "instance": self.id, "method": asked.method, "path": asked.path,
            "host": asked.headers.get(header::HOST).and_then(|value| value.to_str().ok()),
            "received": asked.body.len(),
        });
        axum::Json(body).into_response()
    }

    fn events(&self, events: u64, gap_ms: u64) -> axum::response::Response {
        let clock = self.clock.clone();
        let stream = futures_util::stream::unfold(0, move |n| {
            let clock = clock.clone();
            async move {
                if n == events {
                    return None;
                }
                clock.sleep(Duration::from_millis(gap_ms)).await;
                let event = format!("data: {{\"n\":{n},\"at_us\":{}}}\n\n", clock.wall_micros());
                Some((Ok::<_, std::convert::Infallible>(event), n + 1))
            }
        });
        let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
        response.body(Body::from_stream(stream)).unwrap_or_default()
    }
}

fn parameter(query: &str, name: &str) -> Option<u64> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}
