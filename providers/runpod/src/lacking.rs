//! What a request names that RunPod does not have at all.

use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Mistake, unknown_gpu};

use crate::choice::{self, is_meant, pod_price};
use crate::said::Gpu;
use crate::settings::Cloud;

/// What `gpus`, all that there are, lack of what `request` asks for.
pub(crate) fn lacking(request: &InstanceRequest, gpus: &[Gpu], cloud: Cloud) -> Vec<Mistake> {
    let words = request.gpu.iter().enumerate();
    let unknown = words.filter(|(_, word)| !gpus.iter().any(|gpu| is_meant(gpu, word)));
    let known = || gpus.iter().map(|gpu| gpu.id.as_str()).chain(pools(gpus));
    let mistakes: Vec<Mistake> = unknown
        .map(|(index, word)| unknown_gpu(index, word, "RunPod", known()))
        .collect();
    match mistakes.is_empty() && !has_hardware(request, gpus, cloud) {
        true => vec![too_much(request, gpus, cloud)],
        false => mistakes,
    }
}

/// The pools of `gpus`, each once.
fn pools(gpus: &[Gpu]) -> impl Iterator<Item = &str> {
    let mut pools: Vec<&str> = gpus.iter().filter_map(|gpu| gpu.pool.as_deref()).collect();
    pools.sort_unstable();
    pools.dedup();
    pools.into_iter()
}

fn has_hardware(request: &InstanceRequest, gpus: &[Gpu], cloud: Cloud) -> bool {
    match request.tier {
        Tier::Serverless => !choice::pools(request, gpus).pools.is_empty(),
        _ => !choice::pod_types(request, gpus, cloud).is_empty(),
    }
}

/// The mistake of a request whose GPUs exist, but not with so much memory, or
/// not for this tier.
fn too_much(request: &InstanceRequest, gpus: &[Gpu], cloud: Cloud) -> Mistake {
    let sold = |gpu: &&Gpu| match request.tier {
        Tier::Serverless => gpu.pool.is_some() && gpu.price.serverless.is_some(),
        _ => pod_price(gpu, cloud).is_some(),
    };
    let sold: Vec<&Gpu> = gpus.iter().filter(sold).collect();
    let tier = request.tier;
    if request.gpu.is_empty() {
        let most = sold.iter().map(|gpu| gpu.memory).max().unwrap_or(0);
        let message =
            format!("RunPod sells no GPU of so much memory for {tier}; the most is {most}GiB");
        return Mistake::new("resources.vram", message);
    }
    let fits = |gpu: &&&Gpu| choice::has_memory(gpu, request.vram_mib);
    let mut names: Vec<&str> = sold
        .iter()
        .filter(fits)
        .map(|gpu| gpu.id.as_str())
        .collect();
    names.truncate(8);
    let those = match names.is_empty() {
        true => "none does".to_owned(),
        false => format!("these do: {}", names.join(", ")),
    };
    let message =
        format!("has none that RunPod sells for {tier} with the memory asked for; {those}");
    Mistake::in_tier("gpu", message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gpus() -> Vec<Gpu> {
        let gpu = |id: &str, memory: u64, pool: Option<&str>| {
            json!({
                "id": id, "name": id, "memory": memory, "pool": pool,
                "price": { "secure": 1.0, "community": 0.0, "serverless": pool.map(|_| 1.0) },
            })
        };
        let gpus = json!([
            gpu("NVIDIA L4", 24, Some("ADA_24")),
            gpu("NVIDIA B200", 180, None)
        ]);
        serde_json::from_value(gpus).unwrap()
    }

    fn told(tier: &str, vram_mib: u64, gpu: &[&str]) -> Vec<(String, String)> {
        let request = json!({
            "owner": "o", "deployment": "d", "tier": tier, "image": "i", "port": 8000,
            "gpus": 1, "vram_mib": vram_mib, "gpu": gpu,
        });
        let request = serde_json::from_value(request).unwrap();
        let mistakes = lacking(&request, &gpus(), Cloud::Secure).into_iter();
        mistakes.map(|it| (it.field, it.message)).collect()
    }

    #[test]
    fn what_is_not_sold_is_told_with_what_is() {
        assert_eq!(told("pod", 0, &["NVIDIA L4", "ADA_24"]), []);
        let (field, message) = &told("pod", 0, &["NVIDIA L4", "L5"])[0];
        assert_eq!(field, "gpu[1]");
        assert!(message.contains("it has NVIDIA L4, "), "{message}");
        let (field, message) = &told("pod", 900 << 10, &[])[0];
        assert_eq!(field, "resources.vram");
        assert!(message.ends_with("the most is 180GiB"), "{message}");
        let (field, message) = &told("serverless", 0, &["NVIDIA B200"])[0];
        assert_eq!(field, "gpu");
        assert!(message.ends_with("these do: NVIDIA L4"), "{message}");
    }
}
