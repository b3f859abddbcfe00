use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::report::{Checked, Clause, Miss, Report, Verdict};

/// What cleaning up may take beyond the limit.
const TO_CLEAN_UP: Duration = Duration::from_secs(30);

/// Clause after clause, until the time is over.
pub(super) struct Trial<F> {
    pub(super) report: Report,
    ends: Option<Instant>,
    /// Whether a clause has failed for want of time.
    over: bool,
    told: F,
}

impl<F: FnMut(&Verdict)> Trial<F> {
    pub(super) fn new(limit: Option<Duration>, told: F) -> Self {
        Trial {
            report: Report::default(),
            ends: limit.map(|limit| Instant::now() + limit),
            over: false,
            told,
        }
    }

    /// Holds the adapter to one clause, whose check is `checked`, and tells how it did.
    pub(super) async fn hold(&mut self, clause: Clause, checked: impl Future<Output = Checked>) {
        let outcome = match self.ends {
            None => checked.await,
            Some(ends) => self.in_time(ends, checked).await,
        };
        self.report.add(clause, outcome);
        if let Some(verdict) = self.report.verdicts().last() {
            (self.told)(verdict);
        }
    }

    /// What was made is deleted, whenever the time is over.
    pub(super) fn leave_time_to_clean_up(&mut self) {
        let least = Instant::now() + TO_CLEAN_UP;
        self.ends = self.ends.map(|ends| ends.max(least));
    }

    async fn in_time(&mut self, ends: Instant, checked: impl Future<Output = Checked>) -> Checked {
        if Instant::now() < ends
            && let Ok(checked) = timeout_at(ends, checked).await
        {
            return checked;
        }
        match std::mem::replace(&mut self.over, true) {
            false => Err(Miss::Failed("the time was over before it ended".to_owned())),
            true => Err(Miss::Skipped("not reached: the time was over".to_owned())),
        }
    }
}
