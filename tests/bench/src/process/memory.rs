//! Memory of a group of processes.

use std::fs;
use std::time::Duration;

use serde::Serialize;

use super::stat::parse_size;
use super::tree::tree;
use crate::time;

/// Memory in bytes, summed over processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Memory {
    /// Resident: pages shared between processes count for each.
    pub(crate) rss: u64,
    /// Proportional: shared pages are divided among those who share them.
    pub(crate) pss: u64,
}

impl Memory {
    /// The memory of `pids` now.
    pub(crate) fn read(pids: &[u32]) -> Memory {
        let each = pids.iter().filter_map(|pid| of(*pid));
        each.fold(Memory::default(), |sum, one| Memory {
            rss: sum.rss + one.rss,
            pss: sum.pss + one.pss,
        })
    }

    /// The greater of each figure.
    pub(crate) fn max(self, other: Memory) -> Memory {
        Memory {
            rss: self.rss.max(other.rss),
            pss: self.pss.max(other.pss),
        }
    }

    /// How much more this is than `base`.
    pub(crate) fn above(self, base: Memory) -> Memory {
        Memory {
            rss: self.rss.saturating_sub(base.rss),
            pss: self.pss.saturating_sub(base.pss),
        }
    }
}

/// `smaps_rollup` is for the owner only; of another's process only the RSS is known.
fn of(pid: u32) -> Option<Memory> {
    let read = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let rollup = read("smaps_rollup");
    match (parse_size(&rollup, "Rss"), parse_size(&rollup, "Pss")) {
        (Some(rss), Some(pss)) => Some(Memory { rss, pss }),
        _ => parse_size(&read("status"), "VmRSS").map(|rss| Memory { rss, pss: rss }),
    }
}

/// The greatest memory seen while something runs.
#[derive(Debug)]
pub(crate) struct Peak {
    root: u32,
    every: Duration,
}

impl Peak {
    /// Looks at `root` and its descendants once per `every`.
    pub(crate) fn of(root: u32, every: Duration) -> Self {
        Peak { root, every }
    }

    /// Runs `work` to its end; the peak includes a look before and after.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> (T, Memory) {
        let mut peak = self.look();
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                result = &mut work => return (result, peak.max(self.look())),
                () = time::pause(self.every) => peak = peak.max(self.look()),
            }
        }
    }

    fn look(&self) -> Memory {
        Memory::read(&tree(self.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_some() {
        let memory = Memory::read(&[std::process::id()]);
        assert!(memory.rss >= memory.pss && memory.pss > 0);
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        assert_eq!(Memory::read(&[u32::MAX]), Memory::default());
    }
}
