//! The OpenAI API of workers that have one: RunPod passes it on by itself.

use futures_util::TryStreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};

use super::answer::{Body, Refusal};
use super::ask;
use super::job::Jobs;

/// The routes that are passed on; everything else is a job.
const ROUTES: [&str; 5] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/models",
    "/v1/responses",
];
/// The headers that are passed on, in both directions.
const HEADERS: [HeaderName; 2] = [ACCEPT, CONTENT_TYPE];

pub(super) fn is_route(path: &str) -> bool {
    ROUTES.contains(&path)
}

/// The worker's own answer, as it comes.
pub(super) async fn pass_on(
    jobs: &Jobs,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (head, body) = request.into_parts();
    let body = ask::whole(body).await?;
    let route: Vec<&str> = ["openai"]
        .into_iter()
        .chain(head.uri.path().split('/').skip(1))
        .collect();
    let headers = passed(&head.headers);
    let response = jobs
        .pass_on(head.method, &route, head.uri.query(), headers, body)
        .await?;
    let (status, headers) = (response.status(), passed(response.headers()));
    let pieces = response
        .bytes_stream()
        .map_ok(Frame::data)
        .map_err(std::io::Error::other);
    let mut answer = Response::new(StreamBody::new(pieces).boxed_unsync());
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

fn passed(headers: &HeaderMap) -> HeaderMap {
    let kept = HEADERS
        .into_iter()
        .filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    kept.collect()
}
