//! NVML, NVIDIA's management library.

mod library;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thermocline_clock::Clock;
use thermocline_provider::{Gpu, GpuProbe, ProbeError};
use tokio::sync::Mutex;

/// How long a reading may take; a driver that hangs is left alone meanwhile.
const READ_WITHIN: Duration = Duration::from_secs(5);
const NAME: &str = "NVML";

/// Asks NVML, where this machine has it.
pub struct NvmlProbe {
    clock: Clock,
    open: Open,
    /// Held by the one reading at a time, also by one that hangs.
    library: Arc<Mutex<Option<Box<dyn Library>>>>,
}

/// Loads the library; `None` where there is none, or no driver under it.
type Open = fn() -> Result<Option<Box<dyn Library>>, String>;

/// What is asked of the library. Its calls block.
trait Library: Send {
    /// How many GPUs there are.
    fn count(&self) -> Result<u32, String>;

    /// A GPU below the count: itself, or its slices where it is cut into such.
    fn gpus(&self, index: u32) -> Result<Vec<Seen>, String>;
}

/// A GPU or a slice as the library shows it.
#[derive(Debug, Clone)]
struct Seen {
    uuid: String,
    name: String,
    total: u64,
    used: u64,
}

impl NvmlProbe {
    /// A probe of this machine; nothing is loaded yet.
    pub fn new(clock: Clock) -> Self {
        NvmlProbe::over(library::open, clock)
    }

    fn over(open: Open, clock: Clock) -> Self {
        NvmlProbe {
            clock,
            open,
            library: Arc::default(),
        }
    }
}

#[async_trait]
impl GpuProbe for NvmlProbe {
    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        let Ok(mut library) = self.library.clone().try_lock_owned() else {
            return Err(ProbeError::Silent(NAME));
        };
        let open = self.open;
        let reading = tokio::task::spawn_blocking(move || look(&mut library, open));
        let deadline = self.clock.now() + READ_WITHIN;
        match self.clock.timeout_at(deadline, reading).await {
            Ok(Ok(seen)) => seen.map_err(failed),
            Ok(Err(_panicked)) => Err(failed("the library broke".to_owned())),
            Err(_elapsed) => Err(ProbeError::Silent(NAME)),
        }
    }
}

/// Reads every GPU; a library that fails is loaded anew the next time.
fn look(library: &mut Option<Box<dyn Library>>, open: Open) -> Result<Vec<Gpu>, String> {
    let opened = match library.take() {
        Some(opened) => opened,
        None => match open()? {
            Some(opened) => opened,
            None => return Ok(Vec::new()),
        },
    };
    let gpus = all(&*opened)?;
    *library = Some(opened);
    Ok(gpus)
}

/// Every GPU that can be read: a broken one is left out and keeps its number.
fn all(library: &dyn Library) -> Result<Vec<Gpu>, String> {
    let (mut gpus, mut next, mut broken) = (Vec::new(), 0, None);
    for index in 0..library.count()? {
        match library.gpus(index) {
            Ok(seen) => {
                let count = u32::try_from(seen.len()).unwrap_or(u32::MAX);
                gpus.extend(seen.into_iter().zip(next..).map(gpu));
                next = next.saturating_add(count);
            }
            Err(error) => {
                tracing::debug!(gpu = index, %error, "a GPU cannot be read");
                (next, broken) = (next + 1, Some(error));
            }
        }
    }
    match broken {
        Some(error) if gpus.is_empty() => Err(error),
        _ => Ok(gpus),
    }
}

fn gpu((seen, index): (Seen, u32)) -> Gpu {
    Gpu {
        index,
        uuid: Some(seen.uuid),
        name: seen.name,
        total: seen.total,
        used: Some(seen.used),
    }
}

fn failed(detail: String) -> ProbeError {
    ProbeError::Failed {
        probe: NAME,
        detail,
    }
}

#[cfg(test)]
mod tests;
