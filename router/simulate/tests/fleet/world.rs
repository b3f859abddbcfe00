//! Workers, queues and time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Bucket, Eviction, Identity, Mib};

use crate::catalog::Catalog;
use crate::figures::{Answer, Figures};
use crate::look::{Elsewhere, REPORT, Told, look, others};
use crate::memory::Memory;
use crate::queues::Queues;
use crate::traffic::Request;

/// How requests come to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Routing {
    /// Workers pull from queues that they choose.
    Pulling,
    /// Each request goes to the next worker, whatever that holds.
    RoundRobin,
}

/// What the fleet is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) workers: usize,
    /// Each worker's.
    pub(crate) memory: Mib,
    pub(crate) permits: u32,
    /// Loads at a time on one worker.
    pub(crate) loads: usize,
    pub(crate) cold: Bucket,
    pub(crate) eviction: Eviction,
    pub(crate) routing: Routing,
}

/// One worker.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: Identity,
    pub(crate) memory: Memory,
    pub(crate) permits: u32,
    pub(crate) served: Vec<bool>,
    pub(crate) last_served: Vec<Option<Moment>>,
    cold: Bucket,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Loaded { worker: usize, model: usize },
    Done { worker: usize, model: usize },
    Look,
    Report,
}

/// How long it takes until workers have heard of new demand.
const HEARD: Duration = Duration::from_millis(50);

/// The fleet at work.
pub(crate) struct World<'a> {
    catalog: &'a Catalog,
    setup: Setup,
    workers: Vec<Worker>,
    /// One row of queues for all workers, or one for each.
    queues: Vec<Queues>,
    told: Vec<Told>,
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    sequence: u64,
    look_due: bool,
    figures: Figures,
}

impl<'a> World<'a> {
    /// What comes of `requests`.
    pub(crate) fn run(catalog: &'a Catalog, setup: Setup, requests: &[Request]) -> Figures {
        let mut world = World::new(catalog, setup);
        world.after(Moment::ORIGIN, REPORT, Event::Report);
        for (index, request) in requests.iter().enumerate() {
            world.until(request.at);
            world.arrive(index, *request);
        }
        let end = requests.last().map_or(Moment::ORIGIN, |last| last.at);
        world.until(end + Duration::from_secs(600));
        world.figures
    }

    fn new(catalog: &'a Catalog, setup: Setup) -> Self {
        let models = catalog.0.len();
        let worker = |index| Worker {
            id: Identity::of(&format!("worker-{index}")),
            memory: Memory::new(setup.memory, setup.eviction, models),
            permits: setup.permits,
            served: vec![false; models],
            last_served: vec![None; models],
            cold: setup.cold,
        };
        let workers: Vec<Worker> = (0..setup.workers).map(worker).collect();
        let rows = match setup.routing {
            Routing::Pulling => 1,
            Routing::RoundRobin => setup.workers,
        };
        World {
            told: workers.iter().map(|w| Told::of(w, catalog)).collect(),
            catalog,
            setup,
            workers,
            queues: vec![Queues::new(models); rows],
            events: BinaryHeap::new(),
            sequence: 0,
            look_due: false,
            figures: Figures::default(),
        }
    }

    fn after(&mut self, now: Moment, delay: Duration, event: Event) {
        self.sequence += 1;
        self.events
            .push(Reverse((now + delay, self.sequence, event)));
    }

    fn until(&mut self, end: Moment) {
        while let Some(Reverse((at, _, event))) = self.events.peek().copied() {
            if at > end {
                return;
            }
            self.events.pop();
            self.happen(at, event);
        }
    }

    fn happen(&mut self, now: Moment, event: Event) {
        match event {
            Event::Loaded { worker, model } => {
                self.workers[worker].memory.get(model).unwrap().ready = Some(now);
                self.serve(worker, now);
                self.hear(now);
            }
            Event::Done { worker, model } => {
                self.workers[worker].permits += 1;
                self.workers[worker].memory.get(model).unwrap().in_flight -= 1;
                self.serve(worker, now);
            }
            Event::Look => {
                self.look_due = false;
                (0..self.workers.len()).for_each(|worker| self.choose(worker, now));
            }
            Event::Report => {
                for (told, worker) in self.told.iter_mut().zip(&self.workers) {
                    told.hear(worker, self.catalog);
                }
                self.hear(now);
                self.after(now, REPORT, Event::Report);
            }
        }
    }

    /// Lets all workers look, in a moment.
    fn hear(&mut self, now: Moment) {
        if !self.look_due {
            self.look_due = true;
            self.after(now, HEARD, Event::Look);
        }
    }

    fn row(&self, worker: usize) -> usize {
        worker % self.queues.len()
    }

    fn arrive(&mut self, index: usize, request: Request) {
        let row = self.row(index);
        let turn = self.queues[row].push(request);
        for offset in 0..self.workers.len() {
            let worker = (turn + offset) % self.workers.len();
            if self.row(worker) == row {
                self.serve_one(worker, request.model, request.at);
            }
        }
        if self.queues[row].waiting.contains(&request.model) {
            self.hear(request.at);
        }
    }

    /// Begins what `worker` can begin, the longest wait first.
    fn serve(&mut self, worker: usize, now: Moment) {
        for model in self.queues[self.row(worker)].by_wait(now) {
            while self.serve_one(worker, model, now) {}
        }
    }

    /// Begins the first job that waits for `model`, if `worker` can; whether it did.
    fn serve_one(&mut self, worker: usize, model: usize, now: Moment) -> bool {
        let row = self.row(worker);
        let own = &mut self.workers[worker];
        let ready = own.memory.get(model).and_then(|held| held.ready);
        let serves = own.served[model] || self.setup.routing == Routing::RoundRobin;
        let (Some(ready), true, true) = (ready, serves, own.permits > 0) else {
            return false;
        };
        let Some(request) = self.queues[row].pop(model) else {
            return false;
        };
        own.permits -= 1;
        own.memory.used(model, now);
        own.last_served[model] = Some(now);
        self.figures.answers.push(Answer {
            model,
            arrived: request.at,
            took: (now + request.service).since(request.at),
            warm: ready <= request.at,
        });
        self.after(now, request.service, Event::Done { worker, model });
        true
    }

    fn choose(&mut self, worker: usize, now: Moment) {
        match self.setup.routing {
            Routing::Pulling => self.pull(worker, now),
            Routing::RoundRobin => {
                for model in self.queues[worker].by_wait(now) {
                    self.load(worker, model, now);
                }
            }
        }
    }

    fn pull(&mut self, worker: usize, now: Moment) {
        let own = &self.workers[worker];
        let slots = self.setup.loads.saturating_sub(own.memory.loading());
        let cold = own.cold.available(now).min(slots as u32);
        let queues = &self.queues[0];
        let choice = look(own, worker, &self.told, queues, self.catalog, cold, now);
        for model in choice.leave {
            self.workers[worker].served[model] = false;
        }
        for model in choice.warm {
            self.workers[worker].served[model] = true;
        }
        for model in choice.cold {
            if self.load(worker, model, now) {
                self.workers[worker].served[model] = true;
                self.workers[worker].cold.take(now).unwrap();
            }
        }
        self.serve(worker, now);
    }

    /// Begins to load `model` if there is room; whether it did.
    fn load(&mut self, worker: usize, model: usize, now: Moment) -> bool {
        let row = self.row(worker);
        let starving = !others(&self.told, worker).any(|told| told.served[model]);
        let own = &mut self.workers[worker];
        if own.memory.get(model).is_some() || own.memory.loading() >= self.setup.loads {
            return false;
        }
        let queues = &self.queues[row];
        let waiting = |model: usize| queues.of[model].waiting.len() as u32;
        let elsewhere = Elsewhere {
            told: &self.told,
            own: worker,
            shared: self.setup.routing == Routing::Pulling,
        };
        let loaded = own
            .memory
            .load(model, starving, self.catalog, waiting, &elsewhere, now);
        let Some(evicted) = loaded else {
            return false;
        };
        for gone in &evicted {
            own.served[*gone] = false;
        }
        self.figures.loads.push((now, model));
        let time = self.catalog.0[model].load_time;
        self.after(now, time, Event::Loaded { worker, model });
        true
    }
}
