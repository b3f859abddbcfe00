//! The account: what exists in it, what it costs, and what goes wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_policy::Moment;

use crate::faults::Faults;
use crate::instances::{Instance, Phase};
use crate::market::{self, Ask};
use crate::settings::Settings;
use crate::spacing::Spacing;

/// One account at the service.
pub(crate) struct Service {
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) key: String,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) asks: Vec<Ask>,
    pub(crate) instances: BTreeMap<u64, Instance>,
    pub(crate) faults: Faults,
    pub(crate) spacing: Spacing,
    /// Ids and ports of what was destroyed, oldest first.
    pub(crate) places: Vec<(u64, u16)>,
    /// What that had cost, dollars.
    pub(crate) spent: f64,
    /// The calls that were answered, oldest first.
    pub(crate) calls: Vec<String>,
    /// Instances that were ever made.
    pub(crate) made: u64,
    pub(crate) reads: usize,
}

impl Service {
    pub(crate) fn new(clock: Clock, settings: Settings, key: String) -> Arc<Self> {
        let state = State {
            asks: market::asks(),
            ..State::default()
        };
        Arc::new(Service {
            clock,
            settings,
            key,
            state: Mutex::new(state),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// F12: it ceases to exist without a trace.
    pub(crate) fn vanish(&self, id: u64) -> bool {
        let now = self.clock.now();
        self.lock().drop_instance(id, now)
    }

    /// An instance ends by itself.
    pub(crate) fn end(&self, id: u64, phase: Phase) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let instance = state.instances.get_mut(&id);
        instance.map(|instance| instance.end(phase, now)).is_some()
    }

    /// What exists, and what it has cost.
    pub(crate) fn truth(&self) -> Value {
        let now = self.clock.now();
        let state = self.lock();
        let instance = |(id, it): (&u64, &Instance)| {
            json!({
                "id": id, "label": it.label, "gpu_name": it.ask.gpu.name, "is_bid": it.bid.is_some(),
                "status": it.status(now, &self.settings), "usd": it.spent(now),
            })
        };
        json!({
            "instances": state.instances.iter().map(instance).collect::<Vec<_>>(),
            "made": state.made, "usd_of_destroyed": state.spent, "calls": state.calls.len(),
        })
    }
}

impl State {
    /// The state that a fault makes every instance report this time.
    pub(crate) fn reported(&mut self) -> Option<String> {
        self.reads += 1;
        let states = &self.faults.states;
        states.get(self.reads % states.len().max(1)).cloned()
    }

    /// Ends an instance; its machine is for rent again. False when there is none.
    pub(crate) fn drop_instance(&mut self, id: u64, now: Moment) -> bool {
        let Some(instance) = self.instances.remove(&id) else {
            return false;
        };
        instance.life.cancel();
        self.spent += instance.spent(now);
        self.places.push((id, instance.port()));
        self.asks.push(instance.ask);
        true
    }
}

/// Whether something made at `made` is younger than `seconds` at `now`.
pub(crate) fn younger(made: Moment, now: Moment, seconds: f64) -> bool {
    now.since(made) < Duration::from_secs_f64(seconds.clamp(0.0, 1e6))
}
