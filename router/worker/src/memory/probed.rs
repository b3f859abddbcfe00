use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::fleet::{Device, Mib};
use thermocline_provider::{Gpu, GpuProbe};
use tokio::task::JoinHandle;

use super::Memory;

/// Between two readings.
const EVERY: Duration = Duration::from_secs(2);

/// The memory of this node's GPUs as it was read last. Which GPUs there are is
/// as it was at the first reading that succeeded: one that cannot be read any more has nothing free.
pub struct ProbedMemory {
    gpus: Arc<Mutex<Vec<Gpu>>>,
    reading: JoinHandle<()>,
}

impl ProbedMemory {
    /// Reads `probe` once, and again and again from then on.
    pub async fn start(probe: Arc<dyn GpuProbe>, clock: Clock) -> Self {
        let first = probe.read().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the GPUs of this node cannot be read");
            Vec::new()
        });
        let gpus = Arc::new(Mutex::new(first));
        let kept = gpus.clone();
        let reading = tokio::spawn(async move {
            loop {
                clock.sleep(EVERY).await;
                match probe.read().await {
                    Ok(seen) => learn(&mut lock(&kept), seen),
                    Err(error) => tracing::debug!(%error, "no news of the GPUs"),
                }
            }
        });
        ProbedMemory { gpus, reading }
    }
}

impl Drop for ProbedMemory {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Memory for ProbedMemory {
    fn devices(&self) -> Vec<Device> {
        let device = |gpu: &Gpu| Device {
            total: Mib::within(gpu.total),
            free: gpu
                .used
                .map(|used| Mib::within(gpu.total.saturating_sub(used))),
        };
        lock(&self.gpus).iter().map(device).collect()
    }

    fn uuids(&self, devices: &[usize]) -> Vec<String> {
        let gpus = lock(&self.gpus);
        let uuid = |device: &usize| gpus.get(*device)?.uuid.clone();
        devices.iter().filter_map(uuid).collect()
    }
}

/// Takes in a reading; the first tells which GPUs there are.
fn learn(gpus: &mut Vec<Gpu>, seen: Vec<Gpu>) {
    match gpus.is_empty() {
        true => *gpus = seen,
        false => gpus.iter_mut().for_each(|gpu| renew(gpu, &seen)),
    }
}

/// What is taken of `gpu` as the reading `seen` says.
fn renew(gpu: &mut Gpu, seen: &[Gpu]) {
    // Numbers move when a GPU before it breaks.
    let same =
        |other: &&Gpu| other.uuid == gpu.uuid && (gpu.uuid.is_some() || other.index == gpu.index);
    gpu.used = match seen.iter().find(same) {
        Some(seen) => seen.used,
        None => Some(gpu.total),
    };
}

fn lock(gpus: &Mutex<Vec<Gpu>>) -> MutexGuard<'_, Vec<Gpu>> {
    gpus.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: u32, used: u64) -> Gpu {
        Gpu {
            index,
            uuid: Some(format!("GPU-{index}")),
            name: "NVIDIA L4".to_owned(),
            total: 24 << 30,
            used: Some(used << 30),
        }
    }

    #[test]
    fn gpus_that_could_not_be_read_at_first_are_learned_later() {
        let mut gpus = Vec::new();
        learn(&mut gpus, vec![gpu(0, 1)]);
        learn(&mut gpus, vec![gpu(0, 3), gpu(1, 0)]);
        assert_eq!(gpus, [gpu(0, 3)]);
    }

    #[test]
    fn a_gpu_is_the_same_under_another_number() {
        let moved = Gpu {
            index: 0,
            ..gpu(1, 20)
        };
        let mut gpus = vec![gpu(1, 2)];
        learn(&mut gpus, vec![moved]);
        assert_eq!(gpus[0].used, Some(20 << 30));
    }

    #[tokio::test]
    async fn a_gpu_that_is_lost_keeps_its_place_and_has_nothing_free() {
        let mut gpus = vec![gpu(0, 1), gpu(1, 2)];
        learn(&mut gpus, vec![gpu(1, 20)]);
        let memory = ProbedMemory {
            gpus: Arc::new(Mutex::new(gpus)),
            reading: tokio::spawn(async {}),
        };
        let free: Vec<_> = memory.devices().iter().map(|device| device.free).collect();
        assert_eq!(free, [Some(Mib(0)), Some(Mib(4 << 10))]);
        assert_eq!(memory.uuids(&[1]), ["GPU-1"]);
        assert_eq!(memory.uuids(&[7]), [] as [&str; 0]);
    }
}
