use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::{Library, Seen};

/// `NVML_DEVICE_MIG_ENABLE`.
const MIG_ENABLED: u32 = 1;

/// Loads NVML.
pub(super) fn open() -> Result<Option<Box<dyn Library>>, String> {
    match Nvml::init() {
        Ok(nvml) => Ok(Some(Box::new(nvml))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether there is no library here, or no driver under it.
fn is_absent(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound | NvmlError::DriverNotLoaded
    )
}

impl Library for Nvml {
    fn count(&self) -> Result<u32, String> {
        self.device_count().map_err(|error| error.to_string())
    }

    fn gpus(&self, index: u32) -> Result<Vec<Seen>, String> {
        let read = || {
            let device = self.device_by_index(index)?;
            match is_cut(&device) {
                true => slices(&device),
                false => Ok(vec![seen(&device)?]),
            }
        };
        read().map_err(|error: NvmlError| error.to_string())
    }
}

/// Whether it is cut into MIG slices; one that cannot be is whole.
fn is_cut(device: &Device<'_>) -> bool {
    let mode = device.mig_mode();
    mode.is_ok_and(|mode| mode.current == MIG_ENABLED)
}

fn slices(device: &Device<'_>) -> Result<Vec<Seen>, NvmlError> {
    let most = device.mig_device_count()?;
    let slices = (0..most).filter_map(|index| match device.mig_device_by_index(index) {
        Ok(slice) => Some(seen(&slice)),
        Err(NvmlError::NotFound) => None,
        Err(error) => Some(Err(error)),
    });
    slices.collect()
}

fn seen(device: &Device<'_>) -> Result<Seen, NvmlError> {
    let memory = device.memory_info()?;
    Ok(Seen {
        uuid: device.uuid()?,
        name: device.name()?,
        total: memory.total,
        // What the driver keeps for itself is nobody's to have.
        used: memory.total.saturating_sub(memory.free),
    })
}
