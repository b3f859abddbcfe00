//! What the memory holds: models come in for the jobs that wish for them, and
//! others make room.

use std::time::Duration;

use thermocline_policy::fleet::{Admission, Resident, Want, admit};
use thermocline_wire::fleet::{Model, Terms};

use super::Agent;
use crate::LoadError;
use crate::demand::Work;
use crate::event::{Event, Run, Wish};
use crate::residents::Stage;

/// How long a claimed job waits for room before another worker may have it.
const ROOM_WITHIN: Duration = Duration::from_secs(30);

/// Whether a cold queue's model gets into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// There is work for it, and room once those that can go have gone.
    Now {
        /// It is loaded without waiting for a job.
        pinned: bool,
    },
    /// Not yet.
    Later,
    /// It does not fit here.
    Never,
}

/// How a model gets into memory.
struct Place {
    devices: Vec<usize>,
    /// Idle models that go.
    idle: Vec<String>,
    /// Models whose work in hand goes back first.
    yielding: Vec<String>,
}

enum Verdict {
    Place(Place),
    Wait,
    Never,
}

impl Agent {
    /// Whether there is room for a cold queue that has work.
    pub(super) fn room_for(&mut self, queue: &str) -> Room {
        let Some((work, terms)) = self.work(queue) else {
            return Room::Later;
        };
        if work.waiting == 0 && !terms.pinned {
            return Room::Later;
        }
        match self.verdict(queue, &terms) {
            Verdict::Never => Room::Never,
            Verdict::Wait => Room::Later,
            Verdict::Place(place) => {
                place
                    .yielding
                    .iter()
                    .for_each(|queue| self.yield_runs(queue));
                match place.yielding.is_empty() {
                    true => Room::Now {
                        pinned: terms.pinned,
                    },
                    false => Room::Later,
                }
            }
        }
    }

    /// Loads a pinned model, whether or not anybody waits for it.
    pub(super) fn load_pinned(&mut self, queue: &str) {
        if let Some((work, terms)) = self.work(queue)
            && let Verdict::Place(place) = self.verdict(queue, &terms)
        {
            self.begin_load(queue, terms, place, work.reply_to);
        }
    }

    /// A claimed job wishes for its model.
    pub(super) fn wanted(&mut self, wish: Wish) {
        let wishes = self.wishes.entry(wish.deployment.clone()).or_default();
        wishes.push(wish);
    }

    /// Answers what can be answered, and begins the loads that there is room for.
    pub(super) fn answer_wishes(&mut self) {
        for (deployment, mut wishes) in std::mem::take(&mut self.wishes) {
            wishes.retain(|wish| !wish.answer.is_closed());
            if wishes.is_empty() {
                continue;
            }
            let left = match self.residents.get(&deployment).map(|entry| entry.stage) {
                Some(Stage::Ready) => self.run_or_renew(&deployment, wishes),
                Some(Stage::Loading | Stage::Leaving) => wishes,
                None => self.load_for(&deployment, wishes),
            };
            if !left.is_empty() {
                self.wishes.insert(deployment, left);
            }
        }
    }

    /// Jobs of the generation that is there run; for a newer one it is loaded
    /// anew once it is idle.
    fn run_or_renew(&mut self, deployment: &str, wishes: Vec<Wish>) -> Vec<Wish> {
        let now = self.clock.now();
        let half_life = self.settings.eviction.half_life;
        let generation = self
            .residents
            .get(deployment)
            .map(|entry| entry.generation.clone());
        let (fit, other): (Vec<Wish>, Vec<Wish>) = wishes
            .into_iter()
            .partition(|wish| Some(&wish.generation) == generation.as_ref());
        for wish in fit {
            self.residents.used(deployment, half_life, now);
            let run = Run::new(deployment, self.events.clone());
            // Who left meanwhile drops the run, and with it its place.
            let _dropped = wish.answer.send(Ok(run));
        }
        let idle = self
            .residents
            .get(deployment)
            .is_some_and(|entry| entry.in_flight == 0);
        if let Some(wish) = other.first()
            && idle
        {
            self.residents.renew(deployment, now);
            let place = self.residents.get(deployment).map(|e| e.devices.clone());
            let gpus = self.memory.uuids(&place.unwrap_or_default());
            self.spawn_load(deployment, gpus, Vec::new(), wish.reply_to.clone());
        }
        other
    }

    fn load_for(&mut self, deployment: &str, wishes: Vec<Wish>) -> Vec<Wish> {
        let now = self.clock.now();
        let first = &wishes[0];
        // A job of a queue that no gateway speaks of is on the usual terms.
        let terms = self
            .work(deployment)
            .map(|(_, terms)| terms)
            .unwrap_or_default();
        match self.verdict(deployment, &terms) {
            Verdict::Place(place) if place.yielding.is_empty() => {
                let reply_to = first.reply_to.clone();
                self.begin_load(deployment, terms, place, reply_to);
                wishes
            }
            Verdict::Never => refuse(wishes, "the model does not fit this worker's memory"),
            Verdict::Place(_) | Verdict::Wait if now.since(first.since) < ROOM_WITHIN => wishes,
            _ => refuse(wishes, "there is no room for the model now"),
        }
    }

    pub(super) fn work(&self, queue: &str) -> Option<(Work, Terms)> {
        let work = self.demands.of(queue, self.clock.now())?;
        let terms = work.terms.clone()?;
        Some((work, terms))
    }

    /// How `queue`'s model would get into memory.
    ///
    /// A model that nobody else serves may push others out before their time,
    /// but those that have jobs themselves only when its turn has come.
    fn verdict(&self, queue: &str, terms: &Terms) -> Verdict {
        let due = self.due.as_deref() == Some(queue);
        let alone = self.peers.holders(super::look::identity(queue)).is_empty();
        match self.admission(terms, false, false) {
            Admission::Never => return Verdict::Never,
            Admission::Wait { .. } if alone || terms.pinned => {}
            Admission::Wait { .. } => return Verdict::Wait,
            admission => return Verdict::Place(Place::of(admission)),
        }
        match self.admission(terms, true, false) {
            Admission::Wait { .. } | Admission::Never => {}
            admission => {
                let place = Place::of(admission);
                if due || !place.idle.iter().any(|model| self.has_jobs(model)) {
                    return Verdict::Place(place);
                }
            }
        }
        Verdict::Wait
    }

    pub(super) fn admission(
        &self,
        terms: &Terms,
        starving: bool,
        as_if_idle: bool,
    ) -> Admission<'_> {
        let now = self.clock.now();
        let want_terms = terms.into();
        let want = Want {
            terms: &want_terms,
            starving,
        };
        let mut residents = self.views();
        if as_if_idle {
            residents
                .iter_mut()
                .for_each(|resident| resident.in_flight = 0);
        }
        let devices = self.memory.devices();
        admit(&want, &devices, &residents, &self.settings.eviction, now)
    }

    fn views(&self) -> Vec<Resident<'_>> {
        self.residents.views(|model| self.jobs_waiting(model))
    }

    /// Jobs that wait for `model`: in its queue, and in hand without running.
    fn jobs_waiting(&self, model: &str) -> u32 {
        let queued = self.demands.of(model, self.clock.now());
        let running = self.residents.get(model).map_or(0, |entry| entry.in_flight);
        let held = self.in_hand(model).saturating_sub(running);
        queued.map_or(0, |work| work.waiting) + held
    }

    fn has_jobs(&self, model: &str) -> bool {
        self.jobs_waiting(model) > 0
    }

    fn begin_load(&mut self, deployment: &str, terms: Terms, place: Place, reply_to: String) {
        place.idle.iter().for_each(|model| self.evict(model));
        let now = self.clock.now();
        let gpus = self.memory.uuids(&place.devices);
        self.residents.begin(deployment, terms, place.devices, now);
        self.join(deployment);
        self.spawn_load(deployment, gpus, place.idle, reply_to);
    }

    fn evict(&mut self, model: &str) {
        self.residents.leave(model);
        self.leave(model);
    }

    /// Loads in a task, after `leaving` have gone.
    fn spawn_load(
        &mut self,
        deployment: &str,
        gpus: Vec<String>,
        leaving: Vec<String>,
        reply_to: String,
    ) {
        let (runtime, gateways) = (self.runtime.clone(), self.bench.gateways.clone());
        let (events, deployment) = (self.events.clone(), deployment.to_owned());
        self.tasks.spawn(async move {
            let mut room = Ok(());
            for model in leaving {
                let gone = runtime.unload(&model).await;
                let deployment = model;
                let _agent_ended = events.send(Event::Unloaded {
                    deployment,
                    gone: gone.is_ok(),
                });
                room = room.and(gone);
            }
            let loaded = async {
                room?;
                let model = gateways.model(&reply_to, &deployment).await;
                let model = model.map_err(|e| LoadError::OutOfCapacity(e.to_string()))?;
                runtime.load(&model, &gpus).await.map(|()| model)
            };
            let result = loaded.await;
            let _agent_ended = events.send(Event::Loaded { deployment, result });
        });
    }

    /// A load has ended: its jobs run, or fail.
    pub(super) fn loaded(&mut self, deployment: &str, result: Result<Model, LoadError>) {
        let now = self.clock.now();
        self.cold_changed = true;
        match result {
            Ok(model) => {
                self.residents
                    .loaded(deployment, &model.generation, model.terms, now);
                tracing::info!(deployment, "loaded");
            }
            Err(error) => {
                tracing::warn!(deployment, %error, "not loaded");
                self.residents.remove(deployment);
                let wishes = self.wishes.remove(deployment).unwrap_or_default();
                for wish in wishes {
                    let _job_ended = wish.answer.send(Err(error.clone()));
                }
                self.put_off(deployment);
            }
        }
    }

    /// A model went, or would not: then its memory stays taken, and it is asked again.
    pub(super) fn unloaded(&mut self, deployment: &str, gone: bool) {
        self.cold_changed = true;
        match gone {
            true => self.residents.evicted(deployment),
            false => self.unload(deployment),
        }
    }

    /// Unloads a model that nobody uses.
    pub(super) fn unload(&mut self, deployment: &str) {
        const AGAIN: Duration = Duration::from_secs(5);
        let again = self
            .residents
            .get(deployment)
            .is_some_and(|e| e.stage == Stage::Leaving);
        self.evict(deployment);
        let (runtime, clock, events) = (
            self.runtime.clone(),
            self.clock.clone(),
            self.events.clone(),
        );
        let deployment = deployment.to_owned();
        self.tasks.spawn(async move {
            if again {
                clock.sleep(AGAIN).await;
            }
            let gone = runtime.unload(&deployment).await.is_ok();
            let _agent_ended = events.send(Event::Unloaded { deployment, gone });
        });
    }

    /// The process of a model has died: what it held is cleared.
    pub(super) fn died(&mut self, deployment: &str) {
        let ready = self
            .residents
            .get(deployment)
            .is_some_and(|e| e.stage == Stage::Ready);
        if ready {
            tracing::warn!(deployment, "the model's process is gone");
            self.unload(deployment);
        }
    }

    /// A job has left its model.
    pub(super) fn run_ended(&mut self, deployment: &str) {
        self.residents.done(deployment, self.clock.now());
        self.cold_changed |= self
            .residents
            .get(deployment)
            .is_none_or(|e| e.in_flight == 0);
    }
}

impl Place {
    fn of(admission: Admission<'_>) -> Self {
        let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        match admission {
            Admission::Evict {
                devices,
                idle,
                yielding,
            } => Place {
                devices,
                idle: own(idle),
                yielding: own(yielding),
            },
            Admission::Fits { devices } => Place {
                devices,
                idle: Vec::new(),
                yielding: Vec::new(),
            },
            Admission::Wait { .. } | Admission::Never => Place {
                devices: Vec::new(),
                idle: Vec::new(),
                yielding: Vec::new(),
            },
        }
    }
}

fn refuse(wishes: Vec<Wish>, why: &str) -> Vec<Wish> {
    for wish in wishes {
        let _job_ended = wish
            .answer
            .send(Err(LoadError::OutOfCapacity(why.to_owned())));
    }
    Vec::new()
}
