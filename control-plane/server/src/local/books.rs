//! What is promised of each GPU.

use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::{
    Device, Eviction, Heat, Mib, Resident, Shortage, Stage, Terms, shortage,
};
use thermocline_policy::room::{Claim, Room, room};
use thermocline_provider::{Gpu, ProbeError};

use super::Placement;

/// The last reading, and the promises.
#[derive(Default)]
pub(crate) struct Books {
    gpus: Vec<Gpu>,
    /// When the last reading began that ended well.
    read_at: Moment,
    error: Option<String>,
    shares: BTreeMap<String, Share>,
}

/// What one instance was promised.
pub(crate) struct Share {
    placement: Placement,
    /// Its GPUs among those that were read last.
    devices: Vec<usize>,
    since: Moment,
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
            ready_at: None,
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
        for share in self.shares.values_mut() {
            share.devices = share.placement.among(&self.gpus);
        }
    }

    /// Why the last reading failed.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    pub(crate) fn hold(&mut self, instance: &str, mut share: Share) {
        share.devices = share.placement.among(&self.gpus);
        self.shares.insert(instance.to_owned(), share);
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

    /// Whether `claim` gets room at `now`.
    pub(crate) fn room(&self, claim: Claim, now: Moment) -> Room<'_> {
        let rules = Eviction::default();
        room(claim, &self.devices(), &self.residents(), &rules, now)
    }

    /// What keeps an instance on `terms` from having room.
    pub(crate) fn shortage(&self, terms: &Terms) -> Shortage {
        shortage(terms, &self.devices(), &self.residents())
    }

    /// `share` on each of `devices`.
    pub(crate) fn placement(&self, devices: &[usize], share: Mib) -> Placement {
        Placement::on(devices.iter().map(|device| &self.gpus[*device]), share)
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
        let device = |gpu: &Gpu| Device {
            total: Mib::within(gpu.total),
            free: gpu
                .used
                .map(|used| Mib::within(gpu.total.saturating_sub(used))),
        };
        self.gpus.iter().map(device).collect()
    }

    fn residents(&self) -> Vec<Resident<'_>> {
        let shares = self.shares.iter();
        shares
            .map(|(instance, share)| self.resident(instance, share))
            .collect()
    }

    fn resident<'a>(&self, instance: &'a str, share: &'a Share) -> Resident<'a> {
        Resident {
            model: instance,
            devices: &share.devices,
            share: share.placement.share(),
            in_flight: 0,
            waiting: 0,
            stage: self.stage(share),
            since: share.since,
            heat: Heat::default(),
            load_time: Duration::ZERO,
            pinned: false,
            preemptible: false,
        }
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
