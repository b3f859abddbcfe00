//! The models that this worker holds: its memory's books.

mod rate;

use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::Moment;
pub(crate) use thermocline_policy::fleet::Stage;
use thermocline_policy::fleet::{Eviction, Heat, Mib, Residence, Resident};
use thermocline_wire::fleet as wire;

use rate::LoadRate;

/// One model.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) stage: Stage,
    /// Empty until it is known.
    pub(crate) generation: String,
    pub(crate) terms: wire::Terms,
    pub(crate) devices: Vec<usize>,
    /// Jobs that run on it.
    pub(crate) in_flight: u32,
    since: Moment,
    last_used: Moment,
    load_time: Duration,
    /// Whether an earlier life of this worker loaded it.
    adopted: bool,
}

impl Entry {
    /// When its loading began, and when it ended.
    pub(crate) fn loaded(&self) -> (Moment, Moment) {
        (self.since, self.since + self.load_time)
    }
}

/// What is said of a model now, whatever was when it was loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    /// Jobs that wait for it.
    pub(crate) waiting: u32,
    /// Whether it stays.
    pub(crate) pinned: bool,
    /// Whether it yields.
    pub(crate) preemptible: bool,
    /// How much other workers use it, and used it.
    pub(crate) elsewhere: Heat,
    /// Other workers that serve it.
    pub(crate) others: usize,
}

/// Every model here, and what has become of those that were.
#[derive(Debug, Default)]
pub(crate) struct Residents {
    entries: BTreeMap<String, Entry>,
    heat: BTreeMap<String, Heat>,
    rate: LoadRate,
    /// Models loaded since the start.
    pub(crate) loads: u64,
    /// Models evicted since the start.
    pub(crate) evictions: u64,
}

impl Residents {
    /// Reserves what `deployment` takes: its loading begins.
    pub(crate) fn begin(
        &mut self,
        deployment: &str,
        terms: wire::Terms,
        devices: Vec<usize>,
        now: Moment,
    ) {
        let entry = Entry {
            stage: Stage::Loading,
            generation: String::new(),
            terms,
            devices,
            in_flight: 0,
            since: now,
            last_used: now,
            load_time: Duration::ZERO,
            adopted: false,
        };
        self.entries.insert(deployment.to_owned(), entry);
    }

    /// Reserves what `deployment` takes, which an earlier life of this worker loaded.
    pub(crate) fn adopt(
        &mut self,
        deployment: &str,
        terms: wire::Terms,
        devices: Vec<usize>,
        now: Moment,
    ) {
        self.begin(deployment, terms, devices, now);
        if let Some(entry) = self.entries.get_mut(deployment) {
            entry.adopted = true;
        }
    }

    /// Its loading has ended well.
    pub(crate) fn loaded(
        &mut self,
        deployment: &str,
        generation: &str,
        terms: wire::Terms,
        now: Moment,
    ) {
        if let Some(entry) = self.entries.get_mut(deployment) {
            entry.stage = Stage::Ready;
            generation.clone_into(&mut entry.generation);
            entry.terms = terms;
            entry.load_time = now.since(entry.since);
            entry.last_used = now;
            if !std::mem::take(&mut entry.adopted) {
                self.loads += 1;
                self.rate.count(now);
            }
        }
    }

    /// It is loaded anew, in its place.
    pub(crate) fn renew(&mut self, deployment: &str, now: Moment) {
        if let Some(entry) = self.entries.get_mut(deployment) {
            (entry.stage, entry.since) = (Stage::Loading, now);
        }
    }

    /// Its memory is being freed to make room.
    pub(crate) fn leave(&mut self, deployment: &str) {
        if let Some(entry) = self.entries.get_mut(deployment) {
            entry.stage = Stage::Leaving;
        }
    }

    /// It is no more.
    pub(crate) fn remove(&mut self, deployment: &str) {
        self.entries.remove(deployment);
    }

    pub(crate) fn get(&self, deployment: &str) -> Option<&Entry> {
        self.entries.get(deployment)
    }

    /// Those that answer.
    pub(crate) fn ready(&self) -> impl Iterator<Item = &str> {
        let ready = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.stage == Stage::Ready);
        ready.map(|(name, _)| name.as_str())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(name, entry)| (name.as_str(), entry))
    }

    /// A job of it is about to run.
    pub(crate) fn used(&mut self, deployment: &str, half_life: Duration, now: Moment) {
        let heat = self.heat.entry(deployment.to_owned()).or_default();
        heat.used(now, half_life);
        if let Some(entry) = self.entries.get_mut(deployment) {
            (entry.last_used, entry.in_flight) = (now, entry.in_flight + 1);
        }
    }

    /// A job of it has ended.
    pub(crate) fn done(&mut self, deployment: &str, now: Moment) {
        if let Some(entry) = self.entries.get_mut(deployment) {
            (entry.last_used, entry.in_flight) = (now, entry.in_flight.saturating_sub(1));
        }
    }

    /// Whether `deployment` is here.
    pub(crate) fn residence(&self, deployment: &str) -> Residence {
        match self.entries.get(deployment).map(|entry| entry.stage) {
            Some(Stage::Loading) => Residence::Loading,
            Some(Stage::Ready) => Residence::Resident,
            Some(Stage::Leaving) | None => Residence::Absent,
        }
    }

    /// Whether one is on its way in.
    pub(crate) fn loading(&self) -> bool {
        self.entries
            .values()
            .any(|entry| entry.stage == Stage::Loading)
    }

    /// What admission looks at; `announced` is what is said of a model now.
    pub(crate) fn views(
        &self,
        half_life: Duration,
        announced: impl Fn(&str, &Entry) -> Announced,
    ) -> Vec<Resident<'_>> {
        let views = self.entries.iter().map(|(name, entry)| {
            let announced = announced(name, entry);
            let here = self.heat.get(name).copied().unwrap_or_default();
            Resident {
                model: name,
                devices: &entry.devices,
                share: entry.share(),
                in_flight: entry.in_flight,
                waiting: announced.waiting,
                stage: entry.stage,
                since: entry.since,
                last_used: entry.last_used,
                heat: here.and(announced.elsewhere, half_life),
                others: announced.others,
                load_time: entry.load_time,
                pinned: announced.pinned,
                preemptible: announced.preemptible,
            }
        });
        views.collect()
    }

    /// Those that have had no work for so long that they need not stay.
    pub(crate) fn idle(&self, now: Moment) -> Vec<String> {
        let idle = self.entries.iter().filter(|(_, entry)| {
            let limit = Duration::from_secs(entry.terms.idle_timeout_s);
            entry.stage == Stage::Ready
                && entry.in_flight == 0
                && now.since(entry.last_used) >= limit
        });
        idle.map(|(name, _)| name.clone()).collect()
    }

    /// MiB that is reserved or taken.
    pub(crate) fn taken_mib(&self) -> u64 {
        self.entries
            .values()
            .map(|entry| entry.terms.memory_mib)
            .sum()
    }

    /// Loads in the last five minutes, a minute.
    pub(crate) fn load_rate(&mut self, now: Moment) -> f64 {
        self.rate.read(now)
    }

    /// Drops the heat of models that cooled down long ago, so that it stays bounded.
    pub(crate) fn forget(&mut self, rules: &Eviction, now: Moment) {
        let entries = &self.entries;
        self.heat.retain(|name, heat| {
            entries.contains_key(name) || heat.read(now, rules.half_life) > 0.01
        });
    }

    /// What is reported of each.
    pub(crate) fn report(&self, half_life: Duration, now: Moment) -> Vec<wire::Resident> {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let resident = |(name, entry): (&String, &Entry)| wire::Resident {
            deployment: name.clone(),
            memory_mib: entry.terms.memory_mib,
            in_flight: entry.in_flight,
            idle_ms: millis(now.since(entry.last_used)),
            load_ms: millis(entry.load_time),
            loading: entry.stage == Stage::Loading,
            heat: self
                .heat
                .get(name)
                .map_or(0.0, |heat| heat.read(now, half_life)),
        };
        self.entries.iter().map(resident).collect()
    }
}

impl Entry {
    /// What it takes of each of its devices.
    fn share(&self) -> Mib {
        Mib(self.terms.memory_mib).share(self.devices.len())
    }
}
