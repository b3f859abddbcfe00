//! What is for sale: a small stock of invented prices and true names.

use serde_json::{Value, json};

/// One GPU type: id, name, pool, GiB, secure, community and serverless dollars an hour.
pub(crate) type Gpu = (&'static str, &'static str, &'static str, u32, f64, f64, f64);

pub(crate) const GPUS: [Gpu; 6] = [
    (
        "NVIDIA RTX A4000",
        "RTX A4000",
        "AMPERE_16",
        16,
        0.25,
        0.17,
        0.58,
    ),
    ("NVIDIA L4", "L4", "AMPERE_24", 24, 0.43, 0.33, 0.69),
    (
        "NVIDIA GeForce RTX 3090",
        "RTX 3090",
        "AMPERE_24",
        24,
        0.46,
        0.22,
        0.69,
    ),
    (
        "NVIDIA GeForce RTX 4090",
        "RTX 4090",
        "ADA_24",
        24,
        0.69,
        0.34,
        1.10,
    ),
    ("NVIDIA L40S", "L40S", "ADA_48_PRO", 48, 0.86, 0.79, 1.90),
    (
        "NVIDIA H100 80GB HBM3",
        "H100 SXM",
        "ADA_80_PRO",
        80,
        2.69,
        2.49,
        4.18,
    ),
];

/// CPU flavours: id, vCPUs from and to, GiB for each, secure and serverless dollars an hour for each.
pub(crate) const CPUS: [(&str, u32, u32, f64, f64, f64); 2] = [
    ("cpu3c", 2, 16, 2.0, 0.03, 0.04),
    ("cpu5c", 2, 32, 2.0, 0.04, 0.05),
];

pub(crate) const DATA_CENTERS: [&str; 2] = ["US-KS-2", "EU-RO-1"];

pub(crate) fn gpu(id: &str) -> Option<&'static Gpu> {
    GPUS.iter().find(|gpu| gpu.0 == id)
}

pub(crate) fn is_pool(id: &str) -> bool {
    GPUS.iter().any(|gpu| gpu.2 == id)
}

pub(crate) fn describe_gpu(gpu: &Gpu, available: Option<bool>) -> Value {
    let (id, name, pool, memory, secure, community, serverless) = *gpu;
    let mut described = json!({
        "id": id, "name": name, "pool": pool, "manufacturer": "NVIDIA", "memory": memory,
        "secure": true, "community": true,
        "price": { "secure": secure, "community": community, "serverless": serverless },
        "maxCount": { "secure": 8, "community": 4 },
    });
    if let Some(available) = available {
        let level = if available { "HIGH" } else { "NONE" };
        described["availability"] = level.into();
        described["dataCenters"] = DATA_CENTERS
            .map(|id| json!({ "id": id, "name": id, "availability": level }))
            .to_vec()
            .into();
    }
    described
}

pub(crate) fn describe_cpus() -> Vec<Value> {
    let describe = |&(id, min, max, ram, secure, serverless): &(&str, u32, u32, f64, f64, f64)| {
        json!({
            "id": id, "name": id, "group": "compute", "vcpu": { "min": min, "max": max },
            "ramGbPerVcpu": ram, "availability": "HIGH",
            "price": { "securePerVcpu": secure, "serverlessPerVcpu": serverless },
        })
    };
    CPUS.iter().map(describe).collect()
}
