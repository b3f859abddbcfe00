//! The bodies of creates.

use serde_json::{Value, json};
use thermocline_provider::cloud::{Marks, name};
use thermocline_provider::{InstanceRequest, Mistake, ProviderError};

use crate::choice::Pools;
use crate::error::invalid;
use crate::settings::{EndpointType, Settings};

/// The hardware of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hardware {
    /// A GPU type.
    Gpu(String),
    /// Pools of GPU types.
    Pools(Pools),
    /// A CPU flavour and its vCPUs.
    Cpu(String, u32),
}

/// Refuses what can never be made.
///
/// # Errors
/// `invalid`.
pub(crate) fn check(request: &InstanceRequest) -> Result<(), ProviderError> {
    match () {
        () if request.image.is_empty() => Err(invalid("an image is needed")),
        () if request.port == 0 => Err(invalid("a port is needed")),
        () => match refuses(request).pop() {
            Some(Mistake { field, message, .. }) => Err(invalid(format!("{field}: {message}"))),
            None => Ok(()),
        },
    }
}

/// What RunPod cannot do of `request`, whatever hardware it has.
pub(crate) fn refuses(request: &InstanceRequest) -> Vec<Mistake> {
    let command = "RunPod cannot replace an image's entry point: leave it out and use args";
    match request.command.is_empty() {
        true => Vec::new(),
        false => vec![Mistake::new("command", command)],
    }
}

/// The body of `POST /v2/pods`.
pub(crate) fn pod(
    key: &str,
    request: &InstanceRequest,
    hardware: &Hardware,
    settings: &Settings,
) -> Result<Value, ProviderError> {
    let mut body = container(key, request, settings)?;
    body["cloud"] = settings.cloud.as_str().into();
    match hardware {
        // Left out, the count is answered as if there were no stock.
        Hardware::Gpu(id) => body["gpu"] = json!({ "id": id, "count": request.gpus.max(1) }),
        Hardware::Cpu(id, count) => body["cpu"] = json!({ "id": id, "vcpuCount": count }),
        Hardware::Pools(_) => return Err(invalid("a pod has no pools")),
    }
    Ok(body)
}

/// The body of `POST /v2/serverless`.
pub(crate) fn endpoint(
    key: &str,
    request: &InstanceRequest,
    hardware: &Hardware,
    settings: &Settings,
) -> Result<Value, ProviderError> {
    let mut body = container(key, request, settings)?;
    match hardware {
        Hardware::Pools(pools) => {
            body["gpu"] = json!({ "pools": pools.pools, "count": request.gpus.max(1) });
            if !pools.excluded.is_empty() {
                body["gpu"]["excludedTypes"] = json!(pools.excluded);
            }
        }
        Hardware::Cpu(id, count) => body["cpu"] = json!([{ "id": id, "vcpuCount": count }]),
        Hardware::Gpu(_) => return Err(invalid("an endpoint has pools")),
    }
    body["workers"] = workers(0, request.max_workers.max(1), request.idle_timeout_s);
    // Left out, it is 0 and not what the documents say.
    body["timeout"] = json!(settings.job_timeout.as_millis() as u64);
    match settings.endpoint_type {
        EndpointType::Queue => {
            body["type"] = "QUEUE".into();
            let delay = (request.queue_delay_s as f64).max(0.5);
            body["scaling"] = json!({ "type": "QUEUE_DELAY", "queueDelay": delay });
        }
        EndpointType::LoadBalancer => {
            body["type"] = "LOAD_BALANCER".into();
            let each = settings.requests_per_worker;
            body["scaling"] = json!({ "type": "REQUEST_COUNT", "requestCount": each });
            for name in ["PORT", "PORT_HEALTH"] {
                body["env"][name] = request.port.to_string().into();
            }
            body["env"]["HEALTH_CHECK_PATH"] = request.ready_path.as_str().into();
        }
    }
    Ok(body)
}

/// The bounds of an endpoint's workers.
pub(crate) fn workers(min: u32, max: u32, idle_timeout_s: u64) -> Value {
    json!({ "min": min, "max": max, "idleTimeout": idle_timeout_s.clamp(1, 3_600) })
}

fn container(
    key: &str,
    request: &InstanceRequest,
    settings: &Settings,
) -> Result<Value, ProviderError> {
    let mut body = json!({
        "name": name(&request.owner, key),
        "image": request.image,
        "env": Marks::new(key, request)?.environment(request),
        "ports": [format!("{}/http", request.port)],
        "disk": settings.disk_gb,
    });
    if !request.args.is_empty() {
        let quoted: Vec<String> = request.args.iter().map(|arg| quoted(arg)).collect();
        body["args"] = quoted.join(" ").into();
    }
    if !settings.data_centers.is_empty() {
        body["dataCenterIds"] = json!(settings.data_centers);
    }
    Ok(body)
}

/// One argument of the one string that all of them become.
fn quoted(arg: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&b);
    match !arg.is_empty() && arg.bytes().all(plain) {
        true => arg.to_owned(),
        false => format!("'{}'", arg.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> InstanceRequest {
        let request = json!({
            "owner": "o", "deployment": "d", "tier": "pod", "image": "i", "port": 8000, "gpus": 0,
            "args": ["--fast", "two words", "it's"], "env": { "STEPS": "30" }, "ready_path": "/ping",
        });
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn arguments_survive_their_way_through_one_string() {
        let hardware = Hardware::Gpu("NVIDIA L4".into());
        let body = pod("k", &request(), &hardware, &Settings::default()).unwrap();
        assert_eq!(body["args"], r"--fast 'two words' 'it'\''s'");
        assert_eq!(body["name"], "tc-o-k");
        assert_eq!(body["env"]["STEPS"], "30");
        assert_eq!(body["gpu"]["count"], 1, "the count is always sent");
    }

    #[test]
    fn an_endpoint_always_says_its_timeout() {
        let pools = Pools {
            pools: vec!["ADA_24".into()],
            excluded: Vec::new(),
        };
        let settings = Settings::default();
        let body = endpoint("k", &request(), &Hardware::Pools(pools), &settings).unwrap();
        assert_eq!(body["timeout"], 600_000);
        assert_eq!(
            body["workers"],
            json!({ "min": 0, "max": 1, "idleTimeout": 1 })
        );
        assert_eq!(body["env"]["PORT"], "8000");
    }

    #[test]
    fn an_entry_point_that_cannot_be_replaced_is_refused() {
        let mut bad = request();
        bad.command = vec!["serve".into()];
        assert!(check(&bad).unwrap_err().detail.contains("entry point"));
        assert!(check(&request()).is_ok());
    }
}
