//! Pods as the protocol's instances.

use thermocline_provider::cloud::Marks;
use thermocline_provider::{ProviderError, ProviderInstance, ProviderState};

use crate::address;
use crate::error::malformed;
use crate::id::{Id, usable};
use crate::said::Thing;

/// What the protocol says of `pod`.
pub(crate) fn instance(
    pod: &Thing,
    marks: &Marks,
    template: &str,
) -> Result<ProviderInstance, ProviderError> {
    let id = usable(&pod.id).ok_or_else(malformed)?;
    let status = pod.status.as_deref().unwrap_or_default();
    let (mut state, mut detail) = (state(status), String::new());
    let address = match (state, port(pod)) {
        (ProviderState::Ready, Some(port)) => {
            Some(address::of_pod(template, id, port, &marks.secret)?)
        }
        (ProviderState::Ready, None) => {
            (state, detail) = (ProviderState::Failed, "the pod has no HTTP port".to_owned());
            None
        }
        _ => None,
    };
    if state == ProviderState::Failed && detail.is_empty() {
        detail = format!("the pod's state is {}", status.to_lowercase());
    }
    Ok(ProviderInstance {
        id: Id::Pod(id.to_owned()).to_string(),
        key: marks.key.clone(),
        owner: marks.owner.clone(),
        state,
        address,
        usd_per_hour: pod.cost.filter(|cost| cost.is_finite() && *cost > 0.0),
        detail,
    })
}

/// A state that is not known says nothing: it is waited for.
fn state(status: &str) -> ProviderState {
    match status {
        "RUNNING" => ProviderState::Ready,
        "EXITED" | "ERROR" => ProviderState::Failed,
        "TERMINATED" => ProviderState::Gone,
        _ => ProviderState::Starting,
    }
}

fn port(pod: &Thing) -> Option<u16> {
    let mut ports = pod.ports.iter().flatten();
    ports.find_map(|port| port.strip_suffix("/http")?.parse().ok())
}
