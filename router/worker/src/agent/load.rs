//! What the memory holds: models come in for the jobs that wish for them, and
//! others make room.

use std::time::Duration;

use thermocline_wire::fleet::{Model, Terms};

use super::Agent;
use super::promise::{Place, Promise};
use super::room::Verdict;
use crate::LoadError;
use crate::event::{Event, Run, Wish};
use crate::residents::{Entry, Stage};

/// How long a claimed job waits for room before another worker may have it.
const ROOM_WITHIN: Duration = Duration::from_secs(30);

impl Agent {
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
            let mut left = match self.residents.get(&deployment).map(|entry| entry.stage) {
                Some(Stage::Ready) => self.run_or_renew(&deployment, wishes),
                Some(Stage::Loading | Stage::Leaving) => wishes,
                None => self.load_for(&deployment, wishes),
            };
            left.iter_mut().for_each(|wish| wish.waits = true);
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
        let entry = self.residents.get(deployment);
        let generation = entry.map(|entry| entry.generation.clone());
        let loaded = entry.map_or((now, now), Entry::loaded);
        let (fit, other): (Vec<Wish>, Vec<Wish>) = wishes
            .into_iter()
            .partition(|wish| Some(&wish.generation) == generation.as_ref());
        for wish in fit {
            self.residents.used(deployment, half_life, now);
            let run = Run::new(deployment, wish.waits, loaded, self.events.clone());
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

    /// Loads a pinned model, whether or not anybody waits for it.
    pub(super) fn load_pinned(&mut self, queue: &str, promise: Promise) {
        let Promise {
            terms,
            place,
            reply_to,
        } = promise;
        self.begin_load(queue, terms, place, reply_to);
    }

    pub(super) fn begin_load(
        &mut self,
        deployment: &str,
        terms: Terms,
        place: Place,
        reply_to: String,
    ) {
        self.promised.remove(deployment);
        self.residents.evictions += place.idle.len() as u64;
        place.idle.iter().for_each(|model| self.set_leaving(model));
        let now = self.clock.now();
        let gpus = self.memory.uuids(&place.devices);
        self.residents.begin(deployment, terms, place.devices, now);
        self.join(deployment);
        self.spawn_load(deployment, gpus, place.idle, reply_to);
    }

    fn set_leaving(&mut self, model: &str) {
        self.residents.leave(model);
        self.leave(model);
    }

    /// Loads in a task, after `leaving` have gone.
    pub(super) fn spawn_load(
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
                // What there is of it holds memory until it is gone for certain.
                self.unload(deployment);
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
            true => self.residents.remove(deployment),
            false => self.unload(deployment),
        }
    }

    /// Unloads models that enough others hold, once they have no job here.
    pub(super) fn shed_surplus(&mut self) {
        for model in std::mem::take(&mut self.surplus) {
            match self.residents.get(&model).map(|entry| entry.stage) {
                Some(Stage::Ready) if self.in_hand(&model) == 0 => {
                    tracing::info!(deployment = model, "unloaded: enough other workers hold it");
                    self.unload(&model);
                }
                Some(Stage::Ready | Stage::Loading) => drop(self.surplus.insert(model)),
                Some(Stage::Leaving) | None => {}
            }
        }
    }

    /// Unloads a model that nobody uses.
    pub(super) fn unload(&mut self, deployment: &str) {
        const AGAIN: Duration = Duration::from_secs(5);
        let again = self
            .residents
            .get(deployment)
            .is_some_and(|e| e.stage == Stage::Leaving);
        self.set_leaving(deployment);
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

fn refuse(wishes: Vec<Wish>, why: &str) -> Vec<Wish> {
    for wish in wishes {
        let _job_ended = wish
            .answer
            .send(Err(LoadError::OutOfCapacity(why.to_owned())));
    }
    Vec::new()
}
