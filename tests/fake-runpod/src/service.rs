//! The account: what exists in it, what it costs, and what goes wrong.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use thermocline_clock::{Clock, ManualClock};
use thermocline_policy::Moment;
use tokio::sync::Notify;

use crate::endpoints::Endpoint;
use crate::faults::Faults;
use crate::limits::Limits;
use crate::pods::Pod;
use crate::settings::Settings;

/// One account at the service.
pub(crate) struct Service {
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) key: String,
    /// Told when faults, pods or endpoints change.
    pub(crate) changed: Notify,
    /// The clock, when calls may move it.
    pub(crate) time: OnceLock<ManualClock>,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) pods: BTreeMap<String, Pod>,
    pub(crate) endpoints: BTreeMap<String, Arc<Endpoint>>,
    pub(crate) faults: Faults,
    pub(crate) limits: Limits,
    /// What was deleted, and what it had cost, dollars.
    pub(crate) bills: Vec<(String, f64)>,
    /// The calls that were answered, oldest first.
    pub(crate) calls: Vec<String>,
    /// Pods that were ever made, jobs that were ever submitted.
    pub(crate) pods_made: u64,
    pub(crate) jobs_made: u64,
    pub(crate) reads: usize,
    next_id: u32,
}

impl Service {
    pub(crate) fn new(clock: Clock, settings: Settings, key: String) -> Arc<Self> {
        // Instances live on loopback addresses of their own, 127.1.0.0 and up,
        // and fakes that run side by side begin at different ones.
        let start = clock.wall_micros() as u32 ^ std::process::id().wrapping_mul(0x9E37_79B9);
        let limits = Limits::new(settings.calls);
        Arc::new(Service {
            clock,
            settings,
            key,
            changed: Notify::new(),
            time: OnceLock::new(),
            state: Mutex::new(State {
                pods: BTreeMap::new(),
                endpoints: BTreeMap::new(),
                faults: Faults::default(),
                limits,
                bills: Vec::new(),
                calls: Vec::new(),
                pods_made: 0,
                jobs_made: 0,
                reads: 0,
                next_id: start,
            }),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn faults(&self) -> Faults {
        self.lock().faults.clone()
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
        self.changed.notify_waiters();
    }

    /// The wall clock as the service has it, as text.
    pub(crate) fn timestamp(&self, skew_s: i64) -> String {
        let micros = self.clock.wall_micros() + skew_s * 1_000_000;
        let time = DateTime::<Utc>::from_timestamp_micros(micros).unwrap_or_default();
        time.to_rfc3339_opts(SecondsFormat::Secs, true)
    }
}

impl State {
    /// An id that nothing has; six hexadecimal digits.
    pub(crate) fn fresh_id(&mut self) -> String {
        if self.faults.reused_places
            && let Some((last, _)) = self.bills.pop()
        {
            return last;
        }
        loop {
            self.next_id = self.next_id.wrapping_add(0x01_01);
            let id = self.next_id & 0x00FF_FFFF;
            if (0x01_0000..0xFE_0000).contains(&id) {
                return format!("{id:06x}");
            }
        }
    }
}

/// The loopback address of the instance `id`.
pub(crate) fn address(id: &str) -> Ipv4Addr {
    let low = u32::from_str_radix(id, 16).unwrap_or(1);
    Ipv4Addr::from(0x7F00_0000 | (low & 0x00FF_FFFF))
}

/// Whether something made at `made` is younger than `seconds` at `now`.
pub(crate) fn younger(made: Moment, now: Moment, seconds: f64) -> bool {
    now.since(made) < Duration::from_secs_f64(seconds.clamp(0.0, 1e6))
}
