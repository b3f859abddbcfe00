//! One request on each connection, while the proxy's memory is watched.

use std::time::Duration;

use super::report::Sample;
use crate::error::BenchError;
use crate::process::{Cpu, Memory, Peak, tree};
use crate::scenario::Scenario;
use crate::target::{Driver, Target};

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Tens of GiB take minutes; what hangs should not take hours.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures `target`, whose first process is `root`, which has served little so far.
pub(super) async fn measure(
    target: &Target,
    root: u32,
    scenario: Scenario,
) -> Result<Sample, BenchError> {
    let mut driver = Driver::start(target, scenario, PATIENCE)?;
    let pids = tree(root);
    let (base, before) = (Memory::read(&pids), Cpu::read(&pids));
    let (tally, peak) = Peak::of(root, LOOK_EVERY)
        .during(driver.slot(Duration::ZERO))
        .await;
    let cpu = Cpu::read(&tree(root)).since(&before);
    Ok(Sample {
        name: target.name.clone(),
        base,
        peak,
        cpu,
        tally: tally?,
    })
}
