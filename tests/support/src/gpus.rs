//! GPUs as a test says that they are.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use thermocline_provider::{Gpu, GpuProbe, ProbeError};

/// The bytes of a GiB.
pub const GIB: u64 = 1 << 30;

/// A machine's GPUs, whose memory the test takes and gives back; cheap to clone.
#[derive(Debug, Clone)]
pub struct FakeGpus(Arc<Mutex<Result<Vec<Gpu>, ProbeError>>>);

impl FakeGpus {
    /// GPUs with so many GiB each, of which nothing is taken.
    pub fn new(totals_gib: &[u64]) -> Self {
        let gpu = |(index, total): (u32, &u64)| Gpu {
            index,
            uuid: Some(format!("GPU-{index}")),
            name: "fake".to_owned(),
            total: total * GIB,
            used: Some(0),
        };
        let gpus = (0..).zip(totals_gib).map(gpu).collect();
        FakeGpus(Arc::new(Mutex::new(Ok(gpus))))
    }

    /// The next readings show so many GiB taken of the GPU at `index`.
    ///
    /// # Panics
    /// Where there is no such GPU.
    pub fn take(&self, index: usize, gib: u64) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gpus = told.as_mut().expect("the GPUs can be read");
        gpus[index].used = Some(gib * GIB);
    }
}

#[async_trait]
impl GpuProbe for FakeGpus {
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
