//! What one worker holds.

use std::collections::BTreeMap;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{
    Admission, Device, Eviction, Heat, Mib, Residence, Resident, Stage, Want, admit,
};

use crate::catalog::Catalog;
use crate::look::Elsewhere;

/// A model in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) since: Moment,
    /// When it was loaded; `None` while it is being loaded.
    pub(crate) ready: Option<Moment>,
    pub(crate) in_flight: u32,
}

/// A worker's one GPU, and what it remembers of each model.
#[derive(Debug)]
pub(crate) struct Memory {
    total: Mib,
    rules: Eviction,
    pub(crate) held: BTreeMap<usize, Held>,
    heat: Vec<Heat>,
}

impl Memory {
    pub(crate) fn new(total: Mib, rules: Eviction, models: usize) -> Self {
        Memory {
            total,
            rules,
            held: BTreeMap::new(),
            heat: vec![Heat::default(); models],
        }
    }

    pub(crate) fn total(&self) -> Mib {
        self.total
    }

    pub(crate) fn free(&self, catalog: &Catalog) -> Mib {
        let sizes = self.held.keys().map(|model| catalog.0[*model].terms.memory);
        self.total.less(sizes.sum())
    }

    pub(crate) fn get(&mut self, model: usize) -> Option<&mut Held> {
        self.held.get_mut(&model)
    }

    pub(crate) fn residence(&self, model: usize) -> Residence {
        match self.held.get(&model).map(|held| held.ready) {
            None => Residence::Absent,
            Some(None) => Residence::Loading,
            Some(Some(_)) => Residence::Resident,
        }
    }

    pub(crate) fn loading(&self) -> usize {
        self.held
            .values()
            .filter(|held| held.ready.is_none())
            .count()
    }

    /// A job of `model` begins.
    pub(crate) fn used(&mut self, model: usize, now: Moment) {
        self.heat[model].used(now, self.rules.half_life);
        if let Some(held) = self.get(model) {
            held.in_flight += 1;
        }
    }

    /// How much each model that is here is used here.
    pub(crate) fn heat_of_held(&self) -> impl Iterator<Item = (usize, Heat)> + '_ {
        self.held.keys().map(|model| (*model, self.heat[*model]))
    }

    /// Makes room for `model` and begins to load it; what was evicted, or `None` when
    /// it cannot be loaded now. `waiting` says how many jobs wait for a model.
    pub(crate) fn load(
        &mut self,
        model: usize,
        starving: bool,
        catalog: &Catalog,
        waiting: impl Fn(usize) -> u32,
        elsewhere: &Elsewhere,
        now: Moment,
    ) -> Option<Vec<usize>> {
        let device = Device {
            total: self.total,
            free: None,
        };
        let want = Want {
            terms: &catalog.0[model].terms,
            starving,
        };
        let residents = self.residents(catalog, waiting, elsewhere);
        let evicted: Vec<usize> = match admit(&want, &[device], &residents, &self.rules, now) {
            Admission::Fits { .. } => Vec::new(),
            Admission::Evict { idle, .. } => {
                let gone = self.held.keys().copied();
                gone.filter(|gone| idle.contains(&catalog.0[*gone].name.as_str()))
                    .collect()
            }
            Admission::Wait { .. } | Admission::Never => return None,
        };
        self.held.retain(|model, _| !evicted.contains(model));
        let held = Held {
            since: now,
            ready: None,
            in_flight: 0,
        };
        self.held.insert(model, held);
        Some(evicted)
    }

    fn residents<'a>(
        &self,
        catalog: &'a Catalog,
        waiting: impl Fn(usize) -> u32,
        elsewhere: &Elsewhere,
    ) -> Vec<Resident<'a>> {
        let half_life = self.rules.half_life;
        let views = self.held.iter().map(|(index, held)| {
            let model = &catalog.0[*index];
            Resident {
                model: &model.name,
                devices: &[0],
                share: model.terms.share(),
                in_flight: held.in_flight,
                waiting: waiting(*index),
                stage: if held.ready.is_none() {
                    Stage::Loading
                } else {
                    Stage::Ready
                },
                since: held.since,
                last_used: held.since,
                heat: self.heat[*index].and(elsewhere.heat(*index, half_life), half_life),
                others: elsewhere.serving(*index),
                load_time: model.load_time,
                pinned: false,
                preemptible: false,
            }
        });
        views.collect()
    }
}
