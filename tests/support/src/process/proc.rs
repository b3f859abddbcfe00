//! What the kernel tells of a process.

use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

/// The kernel counts CPU time in hundredths of a second, on every Linux that runs this.
const TICK: Duration = Duration::from_millis(10);

/// Memory of process `pid` that is in RAM, bytes.
///
/// # Panics
/// When there is no such process.
pub fn resident_bytes(pid: u32) -> u64 {
    memory(pid, "VmRSS:")
}

/// The most memory in RAM that process `pid` ever had, bytes.
///
/// # Panics
/// When there is no such process.
pub fn peak_bytes(pid: u32) -> u64 {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, field: &str) -> u64 {
    let status = read(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: u64 = kib.and_then(|kib| kib.parse().ok()).expect("a size");
    kib * 1024
}

/// CPU time that process `pid` has used, user and system.
///
/// # Panics
/// When there is no such process.
pub fn cpu_time(pid: u32) -> Duration {
    let stat = read(pid, "stat");
    // The name in parentheses may hold anything, blanks too.
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<u32>().expect("ticks");
    TICK * (ticks(11) + ticks(12))
}

/// How many files process `pid` has open.
///
/// # Panics
/// When there is no such process.
pub fn open_files(pid: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    files.expect("the process is there").count()
}

/// Whether process `pid` exists and is no zombie.
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Raises how many files this process, and those that it starts, may open to
/// the most that the system allows it; how many that is.
pub fn raise_open_files() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // The limit before stays in force where this is refused.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn read(pid: u32, name: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("the process is there")
}
