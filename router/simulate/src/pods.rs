use std::time::Duration;

use thermocline_policy::{
    Action, InstanceEvent, InstanceState, Moment, Observed, Places, PodState, TierLoad, Wanted,
    plan,
};

use crate::chance::Chance;
use crate::tally::Tally;

/// The first back-off after a start that failed; each further one doubles it.
const FIRST_BACK_OFF: Duration = Duration::from_secs(2);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// A deployment's pod, as a provider would have it.
#[derive(Debug, Clone)]
pub(crate) struct Pods {
    boot: Duration,
    /// The share of starts that find no capacity.
    failures: f64,
    chance: Chance,
    pod: Option<Pod>,
    failed: u32,
    back_off_until: Moment,
}

#[derive(Debug, Clone)]
struct Pod {
    state: InstanceState,
    started: Moment,
    ready: Moment,
    places: Places,
    /// When work last ended there, or it became ready.
    last_end: Moment,
}

impl Pods {
    pub(crate) fn new(boot: Duration, failures: f64, seed: u64) -> Self {
        Pods {
            boot,
            failures,
            chance: Chance::new(seed),
            pod: None,
            failed: 0,
            back_off_until: Moment::ORIGIN,
        }
    }

    pub(crate) fn state(&self, now: Moment) -> PodState {
        match self.pod.as_ref().map(|pod| &pod.state) {
            Some(InstanceState::Ready { .. }) => PodState::Warm,
            Some(InstanceState::Starting { .. }) => PodState::Booting,
            _ if self.backing_off(now) => PodState::BackingOff,
            _ => PodState::Absent,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.pod.as_ref().is_some_and(|pod| pod.state.is_ready())
    }

    pub(crate) fn exists(&self) -> bool {
        self.pod.is_some()
    }

    pub(crate) fn backing_off(&self, now: Moment) -> bool {
        now < self.back_off_until
    }

    pub(crate) fn in_flight(&mut self, now: Moment) -> u32 {
        let pod = self.pod.as_mut();
        pod.map_or(0, |pod| pod.places.taken(now) as u32)
    }

    /// When the last of the work in hand ends; `None` without any.
    pub(crate) fn work_ends(&self) -> Option<Moment> {
        self.pod.as_ref()?.places.last_end()
    }

    /// When the pod on its way gets ready.
    pub(crate) fn ready_at(&self) -> Option<Moment> {
        let pod = self.pod.as_ref()?;
        pod.state.is_starting().then_some(pod.ready)
    }

    pub(crate) fn became_ready(&mut self) {
        self.failed = 0;
        if let Some(pod) = &mut self.pod {
            pod.happen(InstanceEvent::BecameReady);
        }
    }

    /// Whether it took a request of `service`.
    pub(crate) fn take(&mut self, now: Moment, service: Duration, limit: u32) -> bool {
        let Some(pod) = self.pod.as_mut().filter(|pod| pod.state.is_ready()) else {
            return false;
        };
        let room = pod.places.has_room(now, limit);
        if room {
            let end = now + service;
            pod.places.take(end);
            pod.last_end = pod.last_end.max(end);
        }
        room
    }

    pub(crate) fn load(&mut self, now: Moment) -> TierLoad {
        let Some(pod) = &mut self.pod else {
            return TierLoad::default();
        };
        let ready = u32::from(pod.state.is_ready());
        TierLoad {
            live: ready + u32::from(pod.state.is_starting()),
            ready,
            busy: pod.places.taken(now) > 0,
            idle_for: now.since(pod.last_end),
            ..TierLoad::default()
        }
    }

    /// Does what the plan says, at once.
    pub(crate) fn apply(&mut self, count: u32, now: Moment, tally: &mut Tally) {
        let wanted = Wanted { count, max: 1 };
        let observed = self.observed(now);
        for action in plan(wanted, observed.as_slice()) {
            match action {
                Action::Start { .. } => self.start(now),
                Action::Drain { .. } => self.happen(InstanceEvent::Drain),
                Action::Revive { .. } => self.happen(InstanceEvent::Revive),
                Action::Stop { .. } => self.stop(now, tally),
            }
        }
    }

    fn observed(&mut self, now: Moment) -> Option<Observed> {
        self.pod.as_mut().map(|pod| Observed {
            id: String::new(),
            slot: 0,
            state: pod.state.clone(),
            current: true,
            in_flight: pod.places.taken(now) as u32,
        })
    }

    fn happen(&mut self, event: InstanceEvent) {
        if let Some(pod) = &mut self.pod {
            pod.happen(event);
        }
    }

    fn start(&mut self, now: Moment) {
        if self.backing_off(now) {
            return;
        }
        if self.failures > 0.0 && self.chance.unit() < self.failures {
            let delay = FIRST_BACK_OFF * 2u32.saturating_pow(self.failed.min(16));
            self.back_off_until = now + delay.min(LONGEST_BACK_OFF);
            self.failed += 1;
            return;
        }
        let ready = now + self.boot;
        self.pod = Some(Pod {
            state: InstanceState::Starting {
                provider_id: String::new(),
            },
            started: now,
            ready,
            places: Places::default(),
            last_end: ready,
        });
    }

    /// Ends the pod and its bill.
    pub(crate) fn stop(&mut self, now: Moment, tally: &mut Tally) {
        if let Some(pod) = self.pod.take() {
            tally.pod_s += now.since(pod.started).as_secs_f64();
            tally.useful_s += now.since(pod.ready).as_secs_f64();
            tally.boot_s += now.min(pod.ready).since(pod.started).as_secs_f64();
        }
    }
}

impl Pod {
    fn happen(&mut self, event: InstanceEvent) {
        // No event here contradicts a state; one that did would change nothing.
        if let Ok(after) = self.state.clone().after(event) {
            self.state = after;
        }
    }
}
