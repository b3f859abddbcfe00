//! What a pod is asked to be.

use serde_json::{Map, Value, json};

use crate::catalog::{self, CPUS};

/// The request as it reads back.
pub(super) fn reads_back(body: &Value, data_center: &str, created: String) -> Map<String, Value> {
    let or = |key: &str, usual: Value| body.get(key).cloned().unwrap_or(usual);
    let mut said = json!({
        "name": body["name"], "image": body["image"],
        "args": or("args", json!("")), "disk": or("disk", json!(20)), "env": or("env", json!({})),
        "ports": or("ports", json!([])), "registry": or("registry", Value::Null),
        "mounts": or("mounts", json!({})), "cloud": or("cloud", json!("SECURE")),
        "dataCenterId": data_center, "cudaVersion": "12.8", "ssh": { "proxy": null, "direct": null },
        "template": null, "locked": false, "globalNetworking": { "enabled": false },
        "createdAt": created, "startedAt": null,
    });
    for key in ["gpu", "cpu"] {
        if let Some(hardware) = body.get(key) {
            said[key] = hardware.clone();
        }
    }
    match said {
        Value::Object(said) => said,
        _ => Map::new(),
    }
}

/// Dollars an hour.
pub(super) fn price(body: &Value) -> f64 {
    if let Some(gpu) = catalog::gpu(body["gpu"]["id"].as_str().unwrap_or_default()) {
        let each = if body["cloud"] == "COMMUNITY" {
            gpu.5
        } else {
            gpu.4
        };
        return each * body["gpu"]["count"].as_f64().unwrap_or(1.0);
    }
    let cpu = CPUS.iter().find(|cpu| body["cpu"]["id"] == cpu.0);
    cpu.map_or(0.0, |cpu| {
        cpu.4 * body["cpu"]["vcpuCount"].as_f64().unwrap_or(0.0)
    })
}

/// The ports behind the proxy.
pub(super) fn http_ports(body: &Value) -> Vec<u16> {
    let ports = body["ports"].as_array().into_iter().flatten();
    ports
        .filter_map(|port| port.as_str()?.strip_suffix("/http")?.parse().ok())
        .collect()
}
