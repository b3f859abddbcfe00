//! Processor time of a group of processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::stat::{parse_schedstat, parse_stat};

/// Time on a processor, user and system, of every thread at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Cpu(BTreeMap<u32, Duration>);

impl Cpu {
    /// Reads the clocks of all threads of `pids`.
    pub(crate) fn read(pids: &[u32]) -> Cpu {
        let threads = pids
            .iter()
            .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")));
        let entries = threads.flatten().flatten();
        let clock = |entry: fs::DirEntry| {
            let thread = entry.file_name().to_str()?.parse().ok()?;
            Some((thread, used(&entry.path())?))
        };
        Cpu(entries.filter_map(clock).collect())
    }

    /// What was used since `earlier`; a thread that ended since takes its share along.
    pub(crate) fn since(&self, earlier: &Cpu) -> Duration {
        let before = |thread| earlier.0.get(thread).copied().unwrap_or_default();
        self.0
            .iter()
            .map(|(thread, now)| now.saturating_sub(before(thread)))
            .sum()
    }
}

/// The scheduler's own figure where the kernel has it: `stat` knows only 10 ms steps.
fn used(thread: &Path) -> Option<Duration> {
    let read = |file| fs::read_to_string(thread.join(file)).ok();
    let exact = read("schedstat").and_then(|text| parse_schedstat(&text));
    exact.or_else(|| parse_stat(&read("stat")?).map(|stat| stat.cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_threads_count_from_zero_and_ended_ones_not_at_all() {
        let millis = Duration::from_millis;
        let earlier = Cpu(BTreeMap::from([(1, millis(10)), (2, millis(500))]));
        let later = Cpu(BTreeMap::from([(1, millis(15)), (3, millis(4))]));
        assert_eq!(later.since(&earlier), millis(9));
    }

    #[test]
    fn work_shows() {
        let pids = [std::process::id()];
        let before = Cpu::read(&pids);
        let mut sum = 0_u64;
        while Cpu::read(&pids).since(&before) < Duration::from_millis(5) {
            sum = (0..100_000_u64).fold(sum, |sum, value| sum.wrapping_mul(31).wrapping_add(value));
        }
        assert_ne!(sum, 1);
    }
}
