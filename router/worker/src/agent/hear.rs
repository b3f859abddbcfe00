//! What gateways and other workers say.

use std::time::Duration;

use thermocline_wire::fleet::{Demand, Report};

use super::{Agent, Phase};

/// How soon new demand is looked at; what comes meanwhile is looked at with it.
const SOON: Duration = Duration::from_millis(20);

impl Agent {
    pub(super) fn hear_demand(&mut self, body: &[u8]) {
        let Ok(demand) = serde_json::from_slice::<Demand>(body) else {
            tracing::warn!("a gateway's announcement cannot be read");
            return;
        };
        let now = self.clock.now();
        let wanted = demand.queues.iter().any(|queue| queue.waiting > 0);
        self.demands.hear(demand, now);
        self.rest_if_asked();
        self.ask_for_access(now);
        if wanted {
            self.next_look = self.next_look.min(now + SOON);
        }
    }

    /// Takes nothing while a gateway wants it so, and goes on when none does any more.
    pub(super) fn rest_if_asked(&mut self) {
        match (self.phase, self.demands.drains(&self.settings.name)) {
            (Phase::Taking, true) => {
                tracing::info!("resting: a gateway wants this worker to take no more");
                self.phase = Phase::Resting;
                self.stop_taking();
            }
            (Phase::Resting, false) => self.phase = Phase::Taking,
            _ => {}
        }
    }

    pub(super) fn hear_report(&mut self, body: &[u8]) {
        let Ok(report) = serde_json::from_slice::<Report>(body) else {
            tracing::warn!("a worker's report cannot be read");
            return;
        };
        if report.worker != self.settings.name {
            self.peers.hear(&report, self.clock.now());
        }
    }
}
