use std::time::Duration;

use serde_json::Value;
use thermocline_policy::{
    DedicatedTier, FleetOptions, HostHeader, LocalTier, PodTier, ServerlessTier, Shape, Tiers,
};

use super::read::port;
use crate::reader::{Object, text};

pub(super) fn tiers(object: Object<'_>) -> Tiers {
    let tiers = Tiers {
        dedicated: object.object("dedicated").and_then(dedicated),
        local: object.object("local").map(local),
        serverless: object.object("serverless").map(serverless),
        pod: object.object("pod").map(pod),
    };
    object.finish();
    tiers
}

fn dedicated(object: Object<'_>) -> Option<DedicatedTier> {
    let url = object.read("url", base_url);
    if url.is_none() && object.value("url").is_none() {
        object.wrong("url", "is required");
    }
    let host = host_header(&object);
    object.finish();
    // The tier is there even when its URL is bad: only one mistake was made.
    Some(DedicatedTier {
        url: url.unwrap_or_default(),
        host,
    })
}

fn base_url(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    crate::base_url(&text).map_err(str::to_owned)
}

fn local(object: Object<'_>) -> LocalTier {
    let tier = LocalTier {
        max_instances: object.whole("max_instances", 1..=1024).unwrap_or(1),
        idle_timeout: object
            .duration("idle_timeout")
            .unwrap_or(Duration::from_secs(300)),
        host_port: port(&object, "host_port"),
        host: host_header(&object),
    };
    object.finish();
    tier
}

fn serverless(object: Object<'_>) -> ServerlessTier {
    let tier = ServerlessTier {
        provider: provider(&object),
        gpu: object.texts("gpu").unwrap_or_default(),
        max_workers: object.whole("max_workers", 1..=10_000).unwrap_or(3),
        idle_timeout: object
            .duration("idle_timeout")
            .unwrap_or(Duration::from_secs(30)),
        queue_delay: object
            .duration("queue_delay")
            .unwrap_or(Duration::from_secs(4)),
        host: host_header(&object),
        fleet: fleet(&object),
    };
    object.finish();
    tier
}

fn fleet(object: &Object<'_>) -> FleetOptions {
    FleetOptions {
        pinned: object.flag("pinned").unwrap_or(false),
        preemptible: object.flag("preemptible").unwrap_or(false),
        shape: object.choice("shape", &[("gpu", Shape::Gpu), ("cpu", Shape::Cpu)]),
        max_attempts: object.whole("max_attempts", 1..=20),
    }
}

fn pod(object: Object<'_>) -> PodTier {
    let min_instances = object.whole("min_instances", 0..=1024).unwrap_or(0);
    let tier = PodTier {
        provider: provider(&object),
        gpu: object.texts("gpu").unwrap_or_default(),
        min_instances,
        max_instances: object
            .whole("max_instances", 1..=1024)
            .unwrap_or_else(|| min_instances.max(1)),
        idle_timeout: object
            .duration("idle_timeout")
            .unwrap_or(Duration::from_secs(600)),
        host: host_header(&object),
    };
    object.finish();
    tier
}

fn provider(object: &Object<'_>) -> String {
    object.text("provider").unwrap_or_else(|| {
        if object.value("provider").is_none() {
            object.wrong(
                "provider",
                "is required: a name from [providers] of the server",
            );
        }
        String::new()
    })
}

fn host_header(object: &Object<'_>) -> Option<HostHeader> {
    object.choice(
        "host",
        &[("keep", HostHeader::Keep), ("address", HostHeader::Address)],
    )
}
