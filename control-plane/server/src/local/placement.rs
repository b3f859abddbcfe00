use serde::{Deserialize, Serialize};
use thermocline_policy::fleet::Mib;
use thermocline_provider::Gpu;

/// Where an instance is on this machine's GPUs, as it is written down with its
/// intent: a restart finds it again, whatever order the GPUs are in then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placement {
    /// The GPUs, by [`id`].
    devices: Vec<String>,
    /// What is reserved of each, MiB.
    share_mib: u64,
}

impl Placement {
    /// On these GPUs, with `share` of each.
    pub(crate) fn on<'a>(gpus: impl Iterator<Item = &'a Gpu>, share: Mib) -> Self {
        Placement {
            devices: gpus.map(id).collect(),
            share_mib: share.0,
        }
    }

    /// As it is written down.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As it was written down; `None` where that is no placement.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What is reserved of each GPU.
    pub(crate) fn share(&self) -> Mib {
        Mib(self.share_mib)
    }

    /// The GPUs by what Docker knows them by; none where they are only configured.
    pub(crate) fn uuids(&self) -> Vec<String> {
        let known = self.devices.iter().filter(|id| !is_number(id));
        known.cloned().collect()
    }

    /// Where its GPUs stand among `gpus`; those that are no longer there are left out.
    pub(crate) fn among(&self, gpus: &[Gpu]) -> Vec<usize> {
        let place = |device: &String| gpus.iter().position(|gpu| id(gpu) == *device);
        self.devices.iter().filter_map(place).collect()
    }
}

/// The UUID, or the number where there is none.
fn id(gpu: &Gpu) -> String {
    let uuid = gpu.uuid.clone();
    uuid.unwrap_or_else(|| gpu.index.to_string())
}

fn is_number(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_digit())
}
