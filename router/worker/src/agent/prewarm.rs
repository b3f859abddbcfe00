//! What a new worker loads before anybody asks it to: what the fleet uses most.

use std::collections::{BTreeMap, VecDeque};

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Admission, Mib, Prewarm, Terms, prewarm};

use super::Agent;
use super::promise::Place;
use crate::peers::Fame;

/// A worker's first minutes.
pub(super) enum Start {
    /// It hears what others report, until then.
    Listening(Moment),
    /// These are loaded, one after the other, where there is room.
    Warming(VecDeque<String>),
}

impl Agent {
    /// Takes the next step of the start, once: a model is loaded only into
    /// memory that is free, and no more of them than there are permits.
    pub(super) fn warm_up(&mut self, now: Moment) {
        match &mut self.start {
            None => {}
            Some(Start::Listening(until)) if now < *until => {}
            Some(Start::Listening(_)) => {
                let hottest = self.hottest(now);
                self.start = Some(Start::Warming(hottest));
            }
            Some(Start::Warming(_)) if self.residents.loading() => {}
            Some(Start::Warming(models)) => match models.pop_front() {
                Some(model) => self.load_if_free(&model),
                None => self.start = None,
            },
        }
    }

    /// The models that the fleet uses most, as far as they fit into what is free.
    fn hottest(&self, now: Moment) -> VecDeque<String> {
        let famous: BTreeMap<&str, Fame> = self.peers.famous();
        let known: Vec<(&str, Terms, Fame)> = famous
            .into_iter()
            .filter(|(model, _)| {
                self.residents.get(model).is_none()
                    && !self.is_avoided(model, now)
                    && self.may_pull(model)
            })
            .filter_map(|(model, fame)| Some((model, (&self.work(model)?.1).into(), fame)))
            .collect();
        let models: Vec<Prewarm> = known
            .iter()
            .map(|(model, terms, fame)| Prewarm {
                model,
                terms,
                heat: fame.heat,
                load_time: fame.load_time,
                holders: fame.holders,
            })
            .collect();
        let chosen = prewarm(&models, &self.free(), self.settings.shape);
        let most = self.settings.permits as usize;
        chosen.into_iter().take(most).map(str::to_owned).collect()
    }

    pub(super) fn free(&self) -> Vec<Mib> {
        let residents = self.views();
        let taken = |device| {
            let there = residents.iter().filter(|it| it.devices.contains(&device));
            there.map(|resident| resident.share).sum()
        };
        let devices = self.memory.devices().into_iter().enumerate();
        devices
            .map(|(index, device)| device.total.less(taken(index)))
            .collect()
    }

    fn load_if_free(&mut self, model: &str) {
        let Some((work, terms)) = self.work(model) else {
            return;
        };
        let is_here = self.residents.get(model).is_some() || self.taking.contains(model);
        let admission = self.admission(model, &terms, false);
        if let (false, Admission::Fits { .. }) = (is_here, &admission)
            && let Some(place) = Place::of(admission)
        {
            tracing::info!(deployment = model, "is loaded ahead of demand");
            self.begin_load(model, terms, place, work.reply_to);
        }
    }
}
