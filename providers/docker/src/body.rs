//! What a container may do: the one place where a create body is made.
//!
//! A request can set the fields of [`Container`] and nothing else. Everything
//! that would let a container out of its box (privileges, host namespaces,
//! binds, devices, the daemon's socket) has no field, so no request reaches it.

use std::collections::HashMap;

use bollard::models::{
    ContainerCreateBody, DeviceRequest, HostConfig, HostConfigLogConfig, PortBinding, PortMap,
    RestartPolicy, RestartPolicyNameEnum,
};
use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, ProviderError, ProviderErrorKind};

use crate::names;

/// Processes and threads of one container.
const MOST_PIDS: i64 = 4096;
const MIB: i64 = 1024 * 1024;
const NANOS: f64 = 1e9;
const REFUSED_PREFIXES: [&str; 2] = ["LD_", "NVIDIA_"];

/// The create body of the instance `key`.
///
/// # Errors
/// `Invalid` for what a local container cannot or may not have.
pub(crate) fn create_body(
    key: &str,
    request: &InstanceRequest,
) -> Result<ContainerCreateBody, ProviderError> {
    Ok(Container::asked(key, request)?.into())
}

/// All that may differ between our containers.
struct Container {
    image: String,
    entrypoint: Vec<String>,
    command: Vec<String>,
    env: Vec<String>,
    labels: HashMap<String, String>,
    /// `8000/tcp`.
    port: String,
    /// On loopback; automatic when `None`.
    host_port: Option<u16>,
    memory_bytes: Option<i64>,
    nano_cpus: Option<i64>,
    gpus: u32,
    /// The GPUs by UUID; whichever where none is named.
    devices: Vec<String>,
}

impl Container {
    fn asked(key: &str, request: &InstanceRequest) -> Result<Self, ProviderError> {
        if request.tier != Tier::Local {
            return Err(invalid("a container gives the tier `local` only"));
        }
        if request.image.is_empty() {
            return Err(invalid("no image is named"));
        }
        if request.port == 0 {
            return Err(invalid("the port must be 1 to 65535"));
        }
        Ok(Container {
            image: request.image.clone(),
            entrypoint: request.command.clone(),
            command: request.args.clone(),
            env: environment(request)?,
            labels: names::labels(key, request),
            port: format!("{}/tcp", request.port),
            host_port: request.host_port,
            memory_bytes: memory_bytes(request.memory_mib),
            nano_cpus: nano_cpus(request.cpus)?,
            gpus: request.gpus,
            devices: request.devices.clone(),
        })
    }

    fn host_config(&self) -> HostConfig {
        HostConfig {
            privileged: Some(false),
            cap_drop: Some(words(["ALL"])),
            security_opt: Some(words(["no-new-privileges"])),
            network_mode: Some("bridge".to_owned()),
            ipc_mode: Some("private".to_owned()),
            pids_limit: Some(MOST_PIDS),
            memory: self.memory_bytes,
            // The same figure again means no swap on top.
            memory_swap: self.memory_bytes,
            nano_cpus: self.nano_cpus,
            device_requests: self.device_requests(),
            port_bindings: Some(self.port_bindings()),
            log_config: Some(log_config()),
            restart_policy: Some(RestartPolicy {
                name: Some(RestartPolicyNameEnum::NO),
                maximum_retry_count: None,
            }),
            // An exited container stays until we have read its exit code.
            auto_remove: Some(false),
            // Reaps orphans, and makes SIGTERM end a process that has no handler.
            init: Some(true),
            ..HostConfig::default()
        }
    }

    fn device_requests(&self) -> Option<Vec<DeviceRequest>> {
        let gpus = DeviceRequest {
            capabilities: Some(vec![words(["gpu"])]),
            ..DeviceRequest::default()
        };
        // Docker refuses a request that has both, and fills a count from its first GPU on.
        let gpus = match (unless_empty(self.devices.clone()), self.gpus) {
            (None, 0) => return None,
            (None, count) => DeviceRequest {
                count: Some(i64::from(count)),
                ..gpus
            },
            (named, _) => DeviceRequest {
                device_ids: named,
                ..gpus
            },
        };
        Some(vec![gpus])
    }

    fn port_bindings(&self) -> PortMap {
        let binding = PortBinding {
            host_ip: Some("127.0.0.1".to_owned()),
            host_port: Some(self.host_port.unwrap_or(0).to_string()),
        };
        PortMap::from([(self.port.clone(), Some(vec![binding]))])
    }
}

impl From<Container> for ContainerCreateBody {
    fn from(container: Container) -> Self {
        ContainerCreateBody {
            host_config: Some(container.host_config()),
            exposed_ports: Some(vec![container.port]),
            image: Some(container.image),
            entrypoint: unless_empty(container.entrypoint),
            cmd: unless_empty(container.command),
            env: Some(container.env),
            labels: Some(container.labels),
            ..ContainerCreateBody::default()
        }
    }
}

/// `KEY=value` lines, in the order of the keys.
///
/// What steers the dynamic loader or the GPU runtime's hook, which runs on the
/// host, is refused. Where NVIDIA's runtime is the daemon's default, an image
/// alone could ask it for every GPU; without GPUs of its own it gets none.
fn environment(request: &InstanceRequest) -> Result<Vec<String>, ProviderError> {
    if let Some(key) = request.env.keys().find(|key| !is_allowed(key)) {
        return Err(invalid(format!(
            "the environment variable `{key}` is not allowed"
        )));
    }
    let none = request.gpus == 0 && request.devices.is_empty();
    let hidden = none.then(|| "NVIDIA_VISIBLE_DEVICES=void".to_owned());
    let lines = request.env.iter().map(|(k, v)| format!("{k}={v}"));
    Ok(lines.chain(hidden).collect())
}

fn is_allowed(key: &str) -> bool {
    let refused = REFUSED_PREFIXES
        .iter()
        .any(|prefix| key.starts_with(prefix));
    !key.is_empty() && !key.contains(['=', '\0']) && !refused
}

fn memory_bytes(mib: u64) -> Option<i64> {
    let mib = i64::try_from(mib).unwrap_or(i64::MAX);
    (mib > 0).then(|| mib.saturating_mul(MIB))
}

fn nano_cpus(cpus: f64) -> Result<Option<i64>, ProviderError> {
    if !(cpus.is_finite() && cpus >= 0.0) {
        return Err(invalid(
            "the number of CPUs must be finite and not negative",
        ));
    }
    // A cast saturates; no machine has that many.
    Ok((cpus > 0.0).then_some((cpus * NANOS) as i64))
}

fn log_config() -> HostConfigLogConfig {
    let options = [("max-size", "10m"), ("max-file", "2")];
    HostConfigLogConfig {
        typ: Some("json-file".to_owned()),
        config: Some(options.map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
    }
}

fn unless_empty(list: Vec<String>) -> Option<Vec<String>> {
    (!list.is_empty()).then_some(list)
}

fn words<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).into()
}

fn invalid(detail: impl Into<String>) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Invalid, detail)
}

#[cfg(test)]
mod tests;
