//! Endpoints as the protocol's instances.

use thermocline_provider::cloud::Marks;
use thermocline_provider::{ProviderError, ProviderInstance, ProviderState};

use crate::address;
use crate::error::malformed;
use crate::id::{Id, usable};
use crate::said::Thing;

/// What the protocol says of `endpoint`. It takes requests as soon as it
/// exists; whether a worker is there, its ready path says.
pub(crate) fn instance(
    endpoint: &Thing,
    marks: &Marks,
    template: &str,
    translator: &str,
) -> Result<ProviderInstance, ProviderError> {
    let id = usable(&endpoint.id).ok_or_else(malformed)?;
    let address = match endpoint.kind.as_deref() {
        Some("QUEUE") => address::of_queue(translator, id),
        Some("LOAD_BALANCER") => address::of_balancer(template, id)?,
        _ => return Err(malformed()),
    };
    Ok(ProviderInstance {
        id: Id::Endpoint(id.to_owned()).to_string(),
        key: marks.key.clone(),
        owner: marks.owner.clone(),
        state: ProviderState::Ready,
        address: Some(address),
        usd_per_hour: None,
        detail: String::new(),
    })
}
