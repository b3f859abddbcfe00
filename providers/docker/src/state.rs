//! What Docker says of a container, in the provider protocol's words.

use bollard::models::{
    ContainerInspectResponse, ContainerState, ContainerStateStatusEnum as Status, PortMap,
};
use thermocline_provider::{Address, ProviderInstance, ProviderState};

use crate::names;

/// The instance that `found` is; `None` when it is not ours.
///
/// `ending` says that we are stopping it: it runs on for a while, but not for us.
pub(crate) fn instance(found: &ContainerInspectResponse, ending: bool) -> Option<ProviderInstance> {
    let owner = label(found, names::OWNER)?;
    let address = address(found);
    let (state, detail) = match found.state.as_ref() {
        _ if ending => (ProviderState::Stopping, String::new()),
        Some(state) => standing(state, address.is_some()),
        None => (ProviderState::Starting, String::new()),
    };
    Some(ProviderInstance {
        id: found.id.clone().unwrap_or_default(),
        key: label(found, names::INSTANCE).unwrap_or_default().to_owned(),
        owner: owner.to_owned(),
        state,
        address: address.filter(|_| state == ProviderState::Ready),
        usd_per_hour: Some(0.0),
        detail,
    })
}

/// A label of a container.
pub(crate) fn label<'a>(found: &'a ContainerInspectResponse, name: &str) -> Option<&'a str> {
    let labels = found.config.as_ref()?.labels.as_ref()?;
    labels.get(name).map(String::as_str)
}

/// Whether it was made and never started.
pub(crate) fn is_created(found: &ContainerInspectResponse) -> bool {
    let state = found.state.as_ref();
    state.and_then(|s| s.status) == Some(Status::CREATED)
}

/// Whether a start of it failed, which Docker leaves in the state `created`.
pub(crate) fn is_husk(found: &ContainerInspectResponse) -> bool {
    let error = found.state.as_ref().and_then(|s| s.error.as_deref());
    is_created(found) && error.is_some_and(|e| !e.is_empty())
}

fn standing(state: &ContainerState, reachable: bool) -> (ProviderState, String) {
    match state.status.unwrap_or(Status::EMPTY) {
        Status::RUNNING if reachable => (ProviderState::Ready, String::new()),
        Status::RUNNING | Status::CREATED | Status::RESTARTING | Status::EMPTY => {
            (ProviderState::Starting, String::new())
        }
        Status::PAUSED => (ProviderState::Starting, "paused".to_owned()),
        Status::REMOVING | Status::STOPPING => (ProviderState::Stopping, String::new()),
        Status::EXITED | Status::DEAD => (ProviderState::Failed, ended(state)),
    }
}

fn ended(state: &ContainerState) -> String {
    let code = state.exit_code.unwrap_or_default();
    let why = match code {
        _ if state.oom_killed == Some(true) => ": out of memory",
        126 => ": the command cannot be run",
        127 => ": the command was not found in the image",
        _ => "",
    };
    format!("exited with code {code}{why}")
}

fn address(found: &ContainerInspectResponse) -> Option<Address> {
    let ports = found.network_settings.as_ref()?.ports.as_ref()?;
    Some(Address {
        url: format!("http://127.0.0.1:{}", published(ports)?),
        ..Address::default()
    })
}

/// The port on this machine; a container of ours has one at most.
fn published(ports: &PortMap) -> Option<u16> {
    let mut bindings = ports.values().flatten().flatten();
    bindings.find_map(|binding| binding.host_port.as_ref()?.parse().ok())
}

#[cfg(test)]
mod tests;
