//! The GPUs of this machine, and who can tell of them.

use async_trait::async_trait;
use thiserror::Error;

/// A GPU of this machine, or a MIG slice of one, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its place among the GPUs of this machine, from 0.
    pub index: u32,
    /// What the driver and Docker know it by; `None` where it is only configured.
    pub uuid: Option<String>,
    /// Its name, for people.
    pub name: String,
    /// Its memory, bytes.
    pub total: u64,
    /// What is taken of it, bytes, whoever took it; `None` where nobody can tell.
    pub used: Option<u64>,
}

/// The GPUs could not be read; this says nothing about whether there are any.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProbeError {
    /// No answer in time.
    #[error("{0} did not answer in time")]
    Silent(&'static str),
    /// An answer that says no.
    #[error("{probe} failed: {detail}")]
    Failed {
        /// Who was asked.
        probe: &'static str,
        /// What it said.
        detail: String,
    },
}

/// Reads the GPUs of this machine.
#[async_trait]
pub trait GpuProbe: Send + Sync {
    /// Every GPU, in the order of the indices; none where there is no GPU, or
    /// nothing that could tell. Bounded in time.
    ///
    /// # Errors
    /// [`ProbeError`] when what should tell does not.
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError>;
}

/// GPUs as they are configured, where there is nothing to ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredGpus(Vec<u64>);

impl ConfiguredGpus {
    /// One GPU per entry, with so many bytes; none for an entry of 0.
    pub fn new(totals: Vec<u64>) -> Self {
        ConfiguredGpus(totals)
    }

    /// `found` as far as the configuration lets its GPUs be used, or what it
    /// names where nothing was found.
    pub fn applied_to(&self, found: Vec<Gpu>) -> Vec<Gpu> {
        if found.is_empty() {
            return self.gpus();
        }
        // By its number: one that cannot be read is left out of what was found.
        let limit_of = |index: u32| self.0.get(index as usize).copied().unwrap_or(0);
        let limited = found.into_iter().map(|gpu| {
            let beyond = gpu.total.saturating_sub(limit_of(gpu.index));
            Gpu {
                total: gpu.total - beyond,
                // What others take above the limit takes nothing from it.
                used: gpu.used.map(|used| used.saturating_sub(beyond)),
                ..gpu
            }
        });
        limited.filter(|gpu| gpu.total > 0).collect()
    }

    fn gpus(&self) -> Vec<Gpu> {
        let configured = self.0.iter().zip(0..).map(|(total, index)| Gpu {
            index,
            uuid: None,
            name: "configured".to_owned(),
            total: *total,
            used: None,
        });
        configured.filter(|gpu| gpu.total > 0).collect()
    }
}

#[async_trait]
impl GpuProbe for ConfiguredGpus {
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        Ok(self.gpus())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: u32, total: u64, used: u64) -> Gpu {
        Gpu {
            index,
            uuid: Some(format!("GPU-{index}")),
            name: "NVIDIA L4".to_owned(),
            total,
            used: Some(used),
        }
    }

    #[test]
    fn what_is_configured_counts_where_nothing_was_found() {
        let gpus = ConfiguredGpus::new(vec![24, 0, 48]).applied_to(Vec::new());
        let seen: Vec<_> = gpus.iter().map(|gpu| (gpu.index, gpu.total)).collect();
        assert_eq!(seen, [(0, 24), (2, 48)]);
        assert!(
            gpus.iter()
                .all(|gpu| gpu.uuid.is_none() && gpu.used.is_none())
        );
    }

    #[test]
    fn what_is_configured_limits_what_was_found() {
        let found = vec![gpu(0, 24, 3), gpu(1, 24, 10), gpu(2, 24, 0)];
        let gpus = ConfiguredGpus::new(vec![20, 40]).applied_to(found);
        let seen: Vec<_> = gpus.iter().map(|g| (g.index, g.total, g.used)).collect();
        assert_eq!(
            seen,
            [(0, 20, Some(0)), (1, 24, Some(10))],
            "GPU 2 is not named"
        );
    }
}
