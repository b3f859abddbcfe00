use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::Value;
use thermocline_clock::Clock;

use super::Problem;

/// The largest document.
const LARGEST: usize = 2 * 1024 * 1024;
/// What is read and thrown away beyond that, so that the client reads our
/// answer instead of a broken connection.
const MOST_DISCARDED: usize = 64 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// The JSON document of a request.
pub(super) async fn document(request: Request<Body>, clock: &Clock) -> Result<Value, Problem> {
    let read = clock.timeout_at(clock.now() + PATIENCE, whole(request.into_body()));
    let bytes = read
        .await
        .map_err(|_| Problem::new(408, "too_slow", "the body did not come in time"))??;
    serde_json::from_slice(&bytes)
        .map_err(|error| Problem::new(400, "bad_json", format!("the body is not JSON: {error}")))
}

async fn whole(mut body: Body) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(400, "broken_body", "the body broke off"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        seen += data.len();
        if seen <= LARGEST {
            bytes.extend_from_slice(&data);
        } else if seen > MOST_DISCARDED {
            break;
        }
    }
    match seen <= LARGEST {
        true => Ok(bytes),
        false => {
            tracing::warn!(bytes = seen, "a document was too large and was refused");
            Err(Problem::new(
                413,
                "body_too_large",
                "a document may have 2 MiB",
            ))
        }
    }
}
