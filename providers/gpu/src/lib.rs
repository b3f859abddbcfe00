//! The GPUs of this machine, as their driver tells of them.
//!
//! [`DriverProbe`] asks NVML, which is loaded at run time, and `nvidia-smi`
//! where that cannot be had. A machine without either has no GPUs, which is no
//! error. MIG slices are told by NVML alone.

mod nvml;
mod smi;

use async_trait::async_trait;
use thermocline_clock::Clock;
use thermocline_provider::{ConfiguredGpus, Gpu, GpuProbe, ProbeError};

pub use nvml::NvmlProbe;
pub use smi::SmiProbe;

/// Whoever of NVML and `nvidia-smi` tells of GPUs first.
pub struct DriverProbe {
    probes: [Box<dyn GpuProbe>; 2],
}

impl DriverProbe {
    /// A probe of this machine; nothing is asked yet.
    pub fn new(clock: &Clock) -> Self {
        DriverProbe {
            probes: [
                Box::new(NvmlProbe::new(clock.clone())),
                Box::new(SmiProbe::new(clock.clone())),
            ],
        }
    }

    /// The same, but no more of each GPU than `configured` says; that alone
    /// where no GPU is found.
    pub fn within(self, configured: ConfiguredGpus) -> impl GpuProbe {
        Within {
            driver: self,
            configured,
        }
    }
}

struct Within {
    driver: DriverProbe,
    configured: ConfiguredGpus,
}

#[async_trait]
impl GpuProbe for Within {
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        let found = self.driver.read().await?;
        Ok(self.configured.applied_to(found))
    }
}

#[async_trait]
impl GpuProbe for DriverProbe {
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        let mut outcome = Ok(Vec::new());
        for probe in &self.probes {
            match probe.read().await {
                Ok(gpus) if !gpus.is_empty() => return Ok(gpus),
                Ok(_) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Says(Result<Vec<Gpu>, ProbeError>);

    #[async_trait]
    impl GpuProbe for Says {
        async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
            self.0.clone()
        }
    }

    async fn both(one: &Says, other: &Says) -> Result<Vec<Gpu>, ProbeError> {
        let boxed = |says: &Says| Box::new(Says(says.0.clone())) as Box<dyn GpuProbe>;
        let probes = [boxed(one), boxed(other)];
        DriverProbe { probes }.read().await
    }

    #[tokio::test]
    async fn whoever_tells_of_gpus_first_is_believed() {
        let gpu = Gpu {
            index: 0,
            uuid: Some("GPU-1".to_owned()),
            name: "NVIDIA L4".to_owned(),
            total: 24 << 30,
            used: Some(0),
        };
        let tells = Says(Ok(vec![gpu.clone()]));
        let (none, silent) = (Says(Ok(vec![])), Says(Err(ProbeError::Silent("NVML"))));
        assert_eq!(both(&none, &none).await, Ok(vec![]));
        assert_eq!(both(&tells, &silent).await, Ok(vec![gpu.clone()]));
        assert_eq!(both(&silent, &tells).await, Ok(vec![gpu]));
        assert_eq!(both(&silent, &none).await, silent.0, "none may be a lie");
        assert_eq!(both(&none, &silent).await, silent.0);
    }
}
