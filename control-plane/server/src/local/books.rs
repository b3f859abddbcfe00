//! What is promised of each GPU.

use std::collections::BTreeMap;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{
    Device, Eviction, Heat, Mib, Resident, Shortage, Stage, Terms, shortage,
};
use thermocline_policy::room::{Claim, Room, room};
use thermocline_provider::{Gpu, ProbeError};

use super::Placement;
use super::claims::{Activities, Claims};

/// The last reading, and the promises.
#[derive(Default)]
pub(crate) struct Books {
    gpus: Vec<Gpu>,
    /// When the last reading began that ended well.
    read_at: Moment,
    error: Option<String>,
    shares: BTreeMap<String, Share>,
    /// Who waits for room.
    pub(super) claims: Claims,
}

/// What one instance was promised.
pub(crate) struct Share {
    placement: Placement,
    /// Its GPUs among those that were read last.
    devices: Vec<usize>,
    since: Moment,
    /// What was taken of its GPUs when it was promised, bytes by their index.
    before: BTreeMap<u32, u64>,
    /// Since when it answers.
    pub(crate) ready_at: Option<Moment>,
}

impl Share {
    /// A promise made at `now`.
    pub(crate) fn of(placement: Placement, now: Moment) -> Self {
        Share {
            placement,
            devices: Vec::new(),
            since: now,
            before: BTreeMap::new(),
            ready_at: None,
        }
    }

    /// It as something that is still on its way in.
    fn resident<'a>(&'a self, model: &'a str) -> Resident<'a> {
        let load_time = self.ready_at.map(|ready| ready.since(self.since));
        Resident {
            model,
            devices: &self.devices,
            share: self.placement.share(),
            in_flight: 0,
            waiting: 0,
            stage: Stage::Loading,
            since: self.since,
            last_used: self.since,
            heat: Heat::default(),
            others: 0,
            load_time: load_time.unwrap_or_default(),
            pinned: false,
            preemptible: false,
        }
    }
}

impl Books {
    pub(crate) fn has_gpus(&self) -> bool {
        !self.gpus.is_empty()
    }

    /// Takes over a reading that began at `now`. One that failed says nothing:
    /// the last that did not holds.
    pub(crate) fn read(&mut self, reading: Result<Vec<Gpu>, ProbeError>, now: Moment) {
        match reading {
            Ok(gpus) => (self.gpus, self.read_at, self.error) = (gpus, now, None),
            Err(error) => self.error = Some(error.to_string()),
        }
        let aside = self.claims.shares();
        for share in self.shares.values_mut().chain(aside) {
            share.devices = share.placement.among(&self.gpus);
        }
    }

    /// Why the last reading failed.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    pub(crate) fn hold(&mut self, instance: &str, share: Share) {
        let mut share = self.placed(share);
        let gpus = share.devices.iter().map(|device| &self.gpus[*device]);
        share.before = gpus
            .filter_map(|gpu| Some((gpu.index, gpu.used?)))
            .collect();
        self.shares.insert(instance.to_owned(), share);
    }

    /// `share` with its GPUs among those that were read last.
    pub(super) fn placed(&self, mut share: Share) -> Share {
        share.devices = share.placement.among(&self.gpus);
        share
    }

    pub(crate) fn ready(&mut self, instance: &str, now: Moment) {
        if let Some(share) = self.shares.get_mut(instance) {
            share.ready_at.get_or_insert(now);
        }
    }

    /// Whether there was a promise to take back.
    pub(crate) fn release(&mut self, instance: &str) -> bool {
        self.shares.remove(instance).is_some()
    }

    /// Whether `claim` of `deployment` gets room at `now`, beside what else is
    /// promised and set aside.
    pub(super) fn room<'a>(
        &'a self,
        deployment: &str,
        claim: Claim,
        activities: &'a Activities,
        now: Moment,
    ) -> Room<'a> {
        let residents = self.residents(deployment, activities, now);
        room(
            claim,
            &self.devices(),
            &residents,
            &Eviction::default(),
            now,
        )
    }

    /// What keeps an instance of `deployment` on `terms` from having room.
    pub(super) fn shortage(&self, deployment: &str, terms: &Terms) -> Shortage {
        let idle = Activities::default();
        let residents = self.residents(deployment, &idle, self.read_at);
        shortage(terms, &self.devices(), &residents)
    }

    /// `share` on each of `devices`.
    pub(crate) fn placement(&self, devices: &[usize], share: Mib) -> Placement {
        Placement::on(devices.iter().map(|device| &self.gpus[*device]), share)
    }

    /// On as many of the first GPUs as `terms` ask for; `None` where there are none.
    pub(crate) fn first(&self, terms: &Terms) -> Option<Placement> {
        let gpus = self.gpus.iter().take(terms.spread());
        self.has_gpus().then(|| Placement::on(gpus, terms.share()))
    }

    /// Each GPU with what is promised of it.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = (&Gpu, Mib)> {
        let reserved = |device| {
            let there = self
                .shares
                .values()
                .filter(move |s| s.devices.contains(&device));
            there.map(|share| share.placement.share()).sum()
        };
        let gpus = self.gpus.iter().enumerate();
        gpus.map(move |(device, gpu)| (gpu, reserved(device)))
    }

    fn devices(&self) -> Vec<Device> {
        let device = |(device, gpu): (usize, &Gpu)| Device {
            total: Mib::within(gpu.total),
            free: gpu.used.map(|used| {
                let free = Mib::within(gpu.total.saturating_sub(used));
                Mib(free.0 + self.seen_of_loading(device, gpu, used).0)
            }),
        };
        self.gpus.iter().enumerate().map(device).collect()
    }

    /// How much of what is promised to those that load on a GPU its reading shows
    /// already: what it grew by since the first of them began, without those that
    /// answer since. It counts once, as the larger of the two.
    fn seen_of_loading(&self, device: usize, gpu: &Gpu, used: u64) -> Mib {
        let here = || {
            self.shares
                .values()
                .filter(|it| it.devices.contains(&device))
        };
        let loads = |share: &&Share| matches!(self.stage(share), Stage::Loading);
        let first = here().filter(loads).min_by_key(|share| share.since);
        let Some((first, before)) = first.and_then(|it| Some((it, it.before.get(&gpu.index)?)))
        else {
            return Mib(0);
        };
        let sum = |shares: &mut dyn Iterator<Item = &Share>| -> u64 {
            shares.map(|share| share.placement.share().0).sum()
        };
        let promised = sum(&mut here().filter(loads));
        let settled = sum(&mut here().filter(|it| !loads(it) && it.since >= first.since));
        let grown = Mib::within(used.saturating_sub(*before)).0;
        Mib(grown.saturating_sub(settled).min(promised))
    }

    /// What holds memory, and what is set aside for others than `deployment`.
    fn residents<'a>(
        &'a self,
        deployment: &str,
        activities: &'a Activities,
        now: Moment,
    ) -> Vec<Resident<'a>> {
        let held = self.shares.iter().map(|(instance, share)| {
            let activity = activities.get(instance).copied().unwrap_or_default();
            let stage = match activity.leaving {
                true => Stage::Leaving,
                false => self.stage(share),
            };
            Resident {
                in_flight: activity.in_flight,
                waiting: activity.waiting,
                heat: Heat::of(activity.uses, now),
                stage,
                ..share.resident(instance)
            }
        });
        let aside = self.claims.aside_of_others(deployment);
        held.chain(aside.map(|share| share.resident(""))).collect()
    }

    /// It counts as loading until a reading that began when it was ready: no
    /// earlier one need show what it takes.
    fn stage(&self, share: &Share) -> Stage {
        match share.ready_at {
            Some(ready_at) if self.read_at >= ready_at => Stage::Ready,
            _ => Stage::Loading,
        }
    }
}
