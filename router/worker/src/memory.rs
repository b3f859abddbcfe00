//! How much memory there is for models.

mod probed;

use thermocline_policy::fleet::{Device, Mib};

pub use probed::ProbedMemory;

/// Reads the memory of this node's devices.
pub trait Memory: Send + Sync {
    /// Each device that models go to; a node without GPUs has one, its main memory.
    fn devices(&self) -> Vec<Device>;

    /// The UUIDs of the GPUs among `devices`, by index; none where they are only
    /// configured.
    fn uuids(&self, devices: &[usize]) -> Vec<String>;
}

/// Memory as it is configured, where nobody can read it.
#[derive(Debug, Clone)]
pub struct ConfiguredMemory(Vec<u64>);

impl ConfiguredMemory {
    /// One device per entry, with so many MiB for models.
    pub fn new(devices_mib: Vec<u64>) -> Self {
        ConfiguredMemory(devices_mib)
    }
}

impl Memory for ConfiguredMemory {
    fn devices(&self) -> Vec<Device> {
        let devices = self.0.iter().map(|total| Device {
            total: Mib(*total),
            free: None,
        });
        devices.collect()
    }

    fn uuids(&self, _: &[usize]) -> Vec<String> {
        Vec::new()
    }
}
