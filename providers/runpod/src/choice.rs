//! Which hardware to ask for, best first.

use thermocline_provider::InstanceRequest;

use crate::said::{Cpu, Gpu};
use crate::settings::Cloud;

/// The most kinds of hardware that are tried for one instance.
const MOST_CHOICES: usize = 8;
/// The most pools that an endpoint is given when it names none.
const MOST_POOLS: usize = 3;

/// Whether `request` asks for no GPU in any way.
pub(crate) fn is_for_cpu(request: &InstanceRequest) -> bool {
    request.gpus == 0 && request.vram_mib == 0 && request.gpu.is_empty() && request.offer.is_none()
}

/// Dollars an hour of one GPU in `cloud`; `None` when it is not sold there.
pub(crate) fn pod_price(gpu: &Gpu, cloud: Cloud) -> Option<f64> {
    let price = match cloud {
        Cloud::Secure => gpu.price.secure,
        Cloud::Community => gpu.price.community,
    };
    (price.is_finite() && price > 0.0).then_some(price)
}

/// Whether `gpu` has the memory that `request` asks for.
pub(crate) fn has_memory(gpu: &Gpu, vram_mib: u64) -> bool {
    gpu.memory.saturating_mul(1_024) >= vram_mib
}

/// Whether `word` is the type's id, its name or its pool.
pub(crate) fn is_meant(gpu: &Gpu, word: &str) -> bool {
    gpu.id == word || gpu.name == word || gpu.pool.as_deref() == Some(word)
}

/// What the request names: the offer, else its GPUs.
fn words(request: &InstanceRequest) -> Vec<&str> {
    match &request.offer {
        Some(offer) => vec![offer],
        None => request.gpu.iter().map(String::as_str).collect(),
    }
}

/// The GPU types to try for a pod, best first: those named in their order,
/// else the cheapest that fit.
pub(crate) fn pod_types(request: &InstanceRequest, gpus: &[Gpu], cloud: Cloud) -> Vec<String> {
    let fits = |gpu: &&Gpu| has_memory(gpu, request.vram_mib) && pod_price(gpu, cloud).is_some();
    let mut fitting: Vec<&Gpu> = gpus.iter().filter(fits).collect();
    let words = words(request);
    let mut types: Vec<String> = Vec::new();
    for word in &words {
        let meant = fitting.iter().filter(|gpu| is_meant(gpu, word));
        types.extend(meant.map(|gpu| gpu.id.clone()));
    }
    if words.is_empty() {
        let price = |gpu: &Gpu| pod_price(gpu, cloud).unwrap_or(f64::MAX);
        fitting.sort_by(|a, b| price(a).total_cmp(&price(b)));
        types.extend(fitting.iter().map(|gpu| gpu.id.clone()));
    }
    let mut seen = std::collections::HashSet::new();
    types.retain(|id| seen.insert(id.clone()));
    types.truncate(MOST_CHOICES);
    types
}

/// The pools of an endpoint, and the types in them that it must not land on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pools {
    pub(crate) pools: Vec<String>,
    pub(crate) excluded: Vec<String>,
}

/// The pools for an endpoint: those named, else the cheapest that fit.
pub(crate) fn pools(request: &InstanceRequest, gpus: &[Gpu]) -> Pools {
    let (chosen, most) = pool_types(request, gpus);
    let mut pools: Vec<String> = Vec::new();
    for pool in chosen.iter().filter_map(|gpu| gpu.pool.as_ref()) {
        if !pools.contains(pool) && pools.len() < most {
            pools.push(pool.clone());
        }
    }
    let unwanted = |gpu: &&Gpu| {
        let inside = gpu.pool.as_ref().is_some_and(|pool| pools.contains(pool));
        inside && !chosen.iter().any(|it| it.id == gpu.id)
    };
    let excluded = gpus
        .iter()
        .filter(unwanted)
        .map(|gpu| gpu.id.clone())
        .collect();
    Pools { pools, excluded }
}

/// The types that an endpoint may land on, best first, and in how many pools.
fn pool_types<'g>(request: &InstanceRequest, gpus: &'g [Gpu]) -> (Vec<&'g Gpu>, usize) {
    let sold = |gpu: &&Gpu| {
        gpu.pool.is_some() && gpu.price.serverless.is_some() && has_memory(gpu, request.vram_mib)
    };
    let words = words(request);
    let mut sold: Vec<&Gpu> = gpus.iter().filter(sold).collect();
    if words.is_empty() {
        let price = |gpu: &Gpu| gpu.price.serverless.unwrap_or(f64::MAX);
        sold.sort_by(|a, b| price(a).total_cmp(&price(b)));
        return (sold, MOST_POOLS);
    }
    sold.retain(|gpu| words.iter().any(|word| is_meant(gpu, word)));
    (sold, usize::MAX)
}

/// The cheapest flavour and size with the CPUs and the memory of `request`.
pub(crate) fn cpu(
    request: &InstanceRequest,
    cpus: &[Cpu],
    serverless: bool,
) -> Option<(String, u32)> {
    let memory_gb = request.memory_mib as f64 / 1_024.0;
    let sized = cpus.iter().filter_map(|cpu| {
        let each = cpu.ram_gb_per_vcpu.max(0.1);
        let wanted = request
            .cpus
            .max(memory_gb / each)
            .ceil()
            .clamp(2.0, 4_096.0) as u32;
        let count = wanted.max(cpu.vcpu.min).next_power_of_two();
        let price = match serverless {
            true => cpu.price.serverless_per_vcpu,
            false => cpu.price.secure_per_vcpu,
        };
        (count <= cpu.vcpu.max).then(|| (price * f64::from(count), cpu.id.clone(), count))
    });
    let cheapest = sized.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((cheapest.1, cheapest.2))
}

#[cfg(test)]
mod tests;
