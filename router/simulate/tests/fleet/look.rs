//! How a worker chooses its queues: what it sees, and what it does about it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{
    Changes, Heat, Identity, Peer, QueueView, Scoring, WorkerView, subscriptions,
};

use crate::catalog::Catalog;
use crate::queues::Queues;
use crate::world::Worker;

/// What a worker last told of itself.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) peer: Peer,
    pub(crate) served: Vec<bool>,
    /// How much it uses what it holds, and used what it held.
    pub(crate) heat: BTreeMap<usize, Heat>,
}

/// What a worker does about its queues, by model.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) leave: Vec<usize>,
    /// What it holds and does not serve yet.
    pub(crate) warm: Vec<usize>,
    /// What it would have to load, the most wanted first.
    pub(crate) cold: Vec<usize>,
}

/// What `worker`, the `own`th of all, does about its queues when it may join `cold` cold ones.
///
/// It looks at those that have jobs waiting, and at those that it holds without
/// serving them. What it holds, serves and has no jobs of, it would keep.
pub(crate) fn look(
    worker: &Worker,
    own: usize,
    told: &[Told],
    queues: &Queues,
    catalog: &Catalog,
    cold: u32,
    now: Moment,
) -> Choice {
    let others: Vec<&Told> = others(told, own).collect();
    let idle = worker.memory.held.keys().copied();
    let idle = idle.filter(|model| !worker.served[*model]);
    let models: BTreeSet<usize> = queues.waiting.iter().copied().chain(idle).collect();
    let holders = |model: usize| {
        let serving = others.iter().filter(|told| told.served[model]);
        serving.map(|told| told.peer.id).collect()
    };
    let rows: Vec<(usize, Vec<Identity>)> = models
        .into_iter()
        .map(|model| (model, holders(model)))
        .collect();
    let views: Vec<QueueView> = rows
        .iter()
        .map(|(model, holders)| view(worker, *model, holders, queues, catalog, now))
        .collect();
    let peers: Vec<Peer> = others.iter().map(|told| told.peer).collect();
    let view = WorkerView {
        reported: told[own].peer,
        devices: &[worker.memory.total()],
        cold,
        peers: &peers,
    };
    choice(
        &subscriptions(&view, &views, &Scoring::default(), now),
        &rows,
        catalog,
    )
}

fn view<'a>(
    worker: &Worker,
    model: usize,
    holders: &'a [Identity],
    queues: &Queues,
    catalog: &'a Catalog,
    now: Moment,
) -> QueueView<'a> {
    QueueView {
        queue: &catalog.0[model].name,
        id: catalog.0[model].id,
        terms: Some(&catalog.0[model].terms),
        waiting: queues.of[model].waiting.len() as u32,
        oldest: queues.of[model].oldest(now),
        holders,
        barred: &[],
        residence: worker.memory.residence(model),
        subscribed: worker.served[model],
        last_served: worker.last_served[model],
    }
}

fn choice(changes: &Changes, rows: &[(usize, Vec<Identity>)], catalog: &Catalog) -> Choice {
    let index = |name: &str| {
        let mut models = rows.iter().map(|(model, _)| *model);
        models.find(|model| catalog.0[*model].name == name).unwrap()
    };
    let mut choice = Choice {
        leave: changes
            .leave
            .iter()
            .map(|leave| index(leave.queue))
            .collect(),
        ..Choice::default()
    };
    for join in &changes.join {
        let joined = if join.cold {
            &mut choice.cold
        } else {
            &mut choice.warm
        };
        joined.push(index(join.queue));
    }
    choice
}

/// What all but the `own`th told.
pub(crate) fn others(told: &[Told], own: usize) -> impl Iterator<Item = &Told> {
    let others = told
        .iter()
        .enumerate()
        .filter(move |(index, _)| *index != own);
    others.map(|(_, told)| told)
}

impl Told {
    /// What `worker` has to tell.
    pub(crate) fn of(worker: &Worker, catalog: &Catalog) -> Self {
        Told {
            peer: Peer {
                id: worker.id,
                shape: Default::default(),
                memory: worker.memory.total(),
                free: worker.memory.free(catalog),
                busy: worker.permits == 0,
            },
            served: worker.served.clone(),
            heat: BTreeMap::new(),
        }
    }

    /// Hears what `worker` has to tell now.
    pub(crate) fn hear(&mut self, worker: &Worker, catalog: &Catalog) {
        let mut heat = std::mem::take(&mut self.heat);
        heat.extend(worker.memory.heat_of_held());
        *self = Told {
            heat,
            ..Told::of(worker, catalog)
        };
    }
}

/// What the others tell of a model's use, where they share queues.
pub(crate) struct Elsewhere<'a> {
    pub(crate) told: &'a [Told],
    pub(crate) own: usize,
    pub(crate) shared: bool,
}

impl Elsewhere<'_> {
    fn others(&self) -> impl Iterator<Item = &Told> {
        others(self.told, self.own).filter(|_| self.shared)
    }

    /// How much they use `model`.
    pub(crate) fn heat(&self, model: usize, half_life: Duration) -> Heat {
        let heats = self.others().filter_map(|told| told.heat.get(&model));
        heats.fold(Heat::default(), |all, heat| all.and(*heat, half_life))
    }

    /// How many serve it.
    pub(crate) fn serving(&self, model: usize) -> usize {
        self.others().filter(|told| told.served[model]).count()
    }
}

/// How often a worker tells of itself.
pub(crate) const REPORT: Duration = Duration::from_secs(2);
