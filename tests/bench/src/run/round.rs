//! Slots of the same load, given to each target in turn.

use std::time::Duration;

use super::series::{Series, Slot};
use crate::error::BenchError;
use crate::load::{PATIENCE, Tally};
use crate::process::{Cpu, Memory, Peak, tree};
use crate::scenario::Scenario;
use crate::target::{Driver, Target};

/// Reading `smaps_rollup` disturbs the process a little, so not too often.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The targets of one scenario with their open connections.
pub(super) struct Contest(Vec<(Driver, Series)>);

impl Contest {
    /// Starts a load process for each target.
    pub(super) fn start(targets: &[Target], scenario: Scenario) -> Result<Self, BenchError> {
        let enter = |target: &Target| {
            let driver = Driver::start(target, scenario, PATIENCE)?;
            Ok((driver, Series::new(target.clone())))
        };
        targets
            .iter()
            .map(enter)
            .collect::<Result<_, _>>()
            .map(Contest)
    }

    /// Opens the connections, on both sides; only failures are kept of it.
    pub(super) async fn warm_up(&mut self, length: Duration) -> Result<(), BenchError> {
        for (driver, series) in &mut self.0 {
            series.warmed(driver.slot(length).await?);
        }
        Ok(())
    }

    /// Gives every target one slot; only one is loaded at a time.
    pub(super) async fn round(&mut self, length: Duration) -> Result<(), BenchError> {
        for (driver, series) in &mut self.0 {
            let slot = match series.target.root {
                None => Slot {
                    tally: driver.slot(length).await?,
                    cpu: None,
                    memory: None,
                },
                Some(root) => watched(root, driver.slot(length)).await?,
            };
            series.add(slot);
        }
        Ok(())
    }

    /// What was measured.
    pub(super) fn finish(self) -> Vec<Series> {
        self.0.into_iter().map(|(_, series)| series).collect()
    }
}

/// A slot with what the proxy used meanwhile.
async fn watched(
    root: u32,
    work: impl Future<Output = Result<Tally, BenchError>>,
) -> Result<Slot, BenchError> {
    let before = Cpu::read(&tree(root));
    let (tally, memory): (_, Memory) = Peak::of(root, LOOK_EVERY).during(work).await;
    let used = Cpu::read(&tree(root)).since(&before);
    Ok(Slot {
        tally: tally?,
        cpu: Some(used),
        memory: Some(memory),
    })
}
