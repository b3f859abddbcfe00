//! Which deployment a request is for: the first that names one wins.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Deserialize;
use thermocline_table::{Deployment, Snapshot};

use crate::inbound::{Inbound, NotWhole};
use crate::names;
use crate::refusal::{Refusal, refuse};

/// The largest body that is read for its `model` field.
const LARGEST_MODEL_BODY: usize = 16 * 1024 * 1024;
/// How long a client may take to send it: no deployment's deadline holds yet.
pub(crate) const LONGEST_MODEL_READ: Duration = Duration::from_secs(600);

/// A deployment, and the path prefix that named it.
#[derive(Debug)]
pub(crate) struct Identified {
    pub(crate) deployment: Arc<Deployment>,
    /// `/d/NAME`, which the backend does not see.
    pub(crate) prefix: Option<usize>,
}

/// What the head alone says.
pub(crate) enum ByHead {
    Found(Identified),
    /// The body's `model` field decides.
    AskBody,
    Unknown,
}

/// Looks at header, Host and path, in this order.
pub(crate) fn by_head(snapshot: &Snapshot, parts: &Parts, host: &str) -> ByHead {
    let named = [&names::DEPLOYMENT, &names::MODEL_NAME]
        .into_iter()
        .find_map(|name| parts.headers.get(name));
    if let Some(name) = named {
        let found = name.to_str().ok().and_then(|name| snapshot.by_name(name));
        return found.map_or(ByHead::Unknown, whole);
    }
    if let Some(deployment) = snapshot.by_host(host) {
        return whole(deployment);
    }
    let path = parts.uri.path();
    if let Some(rest) = path.strip_prefix("/d/") {
        let name = rest.split('/').next().unwrap_or_default();
        return match snapshot.by_name(name) {
            None => ByHead::Unknown,
            Some(deployment) => ByHead::Found(Identified {
                deployment: deployment.clone(),
                prefix: Some("/d/".len() + name.len()),
            }),
        };
    }
    match path.starts_with("/v1/") && is_json(parts) {
        true => ByHead::AskBody,
        false => ByHead::Unknown,
    }
}

fn whole(deployment: &Arc<Deployment>) -> ByHead {
    ByHead::Found(Identified {
        deployment: deployment.clone(),
        prefix: None,
    })
}

fn is_json(parts: &Parts) -> bool {
    let content_type = parts.headers.get(CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json"))
}

/// Reads the body for its `model` field; it is passed on byte for byte later.
pub(crate) async fn model_of(body: &mut Inbound) -> Result<String, Refusal> {
    #[derive(Deserialize)]
    struct Named {
        model: String,
    }
    let whole = body
        .read_whole(LARGEST_MODEL_BODY)
        .await
        .map_err(not_whole)?;
    serde_json::from_slice::<Named>(&whole)
        .map(|named| named.model)
        .map_err(|_| refuse(404, "unknown_deployment", "the body names no model"))
}

fn not_whole(why: NotWhole) -> Refusal {
    let large = "a body is read for its model up to 16 MiB";
    match why {
        NotWhole::Left => Refusal::client_left(),
        NotWhole::TooLarge => refuse(413, "body_too_large", large).closing(),
        NotWhole::NoRoom => refuse(503, "busy", "too many bodies are being read")
            .retry_after(Duration::from_secs(1))
            .closing(),
    }
}

/// No such deployment. What the client sent is not repeated.
pub(crate) fn unknown() -> Refusal {
    refuse(404, "unknown_deployment", "no such deployment")
}
