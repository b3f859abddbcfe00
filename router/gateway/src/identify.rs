//! Which deployment a request is for: the first that names one wins.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use thermocline_table::{Deployment, Snapshot};

use crate::guard::Checked;
use crate::inbound::{Inbound, Unread};
use crate::model_field::{ModelField, Search};
use crate::names;
use crate::refusal::{Refusal, refuse};
use crate::upstream::Framing;

/// The largest body that is read for its `model` field.
pub(crate) const LARGEST_MODEL_BODY: usize = 16 * 1024 * 1024;
/// How long a client may take to send it: no deployment's deadline holds yet.
pub(crate) const LONGEST_MODEL_READ: Duration = Duration::from_secs(600);

/// A deployment, and the path prefix that named it.
#[derive(Debug)]
pub(crate) struct Identified {
    pub(crate) deployment: Arc<Deployment>,
    /// `/d/NAME`, which the backend does not see.
    pub(crate) prefix: Option<usize>,
    /// The largest body in bytes that may be passed on for how it was named.
    pub(crate) most_body: Option<u64>,
}

/// What the head alone says.
pub(crate) enum ByHead {
    Found(Identified),
    /// The body's `model` field decides.
    AskBody,
    Unknown,
}

/// Looks at header, Host and path, in this order.
pub(crate) fn by_head(snapshot: &Snapshot, parts: &Parts, checked: &Checked) -> ByHead {
    let names = [&names::DEPLOYMENT, &names::MODEL_NAME]
        .into_iter()
        .filter(|_| checked.seen.deployment);
    let named = names.filter_map(|name| parts.headers.get(name)).next();
    if let Some(name) = named {
        let found = name.to_str().ok().and_then(|name| snapshot.by_name(name));
        return found.map_or(ByHead::Unknown, whole);
    }
    if let Some(deployment) = snapshot.by_host(&checked.host) {
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
                most_body: None,
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
        most_body: None,
    })
}

fn is_json(parts: &Parts) -> bool {
    let content_type = parts.headers.get(CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json"))
}

/// Reads the body up to its `model` field; it is passed on byte for byte later.
pub(crate) async fn model_of(body: &mut Inbound, framing: Framing) -> Result<String, Refusal> {
    if matches!(framing, Framing::Length(length) if length > LARGEST_MODEL_BODY as u64) {
        return Err(too_large());
    }
    let (mut field, mut search) = (ModelField::default(), Search::Goes);
    let read = body.read_until(LARGEST_MODEL_BODY, |piece| {
        search = field.push(piece);
        search != Search::Goes
    });
    read.await.map_err(unread)?;
    match search {
        Search::Found(model) => Ok(model),
        Search::Goes | Search::Hopeless => {
            Err(refuse(404, "unknown_deployment", "the body names no model"))
        }
    }
}

fn unread(why: Unread) -> Refusal {
    match why {
        Unread::Broken(error) => Refusal::broken_body(error),
        Unread::TooLarge => too_large(),
        Unread::NoRoom => refuse(503, "busy", "too many bodies are being read")
            .retry_after(Duration::from_secs(1))
            .closing(),
    }
}

fn too_large() -> Refusal {
    let detail = "a body that names its model may have 16 MiB";
    refuse(413, "body_too_large", detail).closing()
}

/// No such deployment. What the client sent is not repeated.
pub(crate) fn unknown() -> Refusal {
    refuse(404, "unknown_deployment", "no such deployment")
}
