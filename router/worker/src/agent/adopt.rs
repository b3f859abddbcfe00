//! Models that an earlier life of this worker left running are adopted where they are
//! what a gateway wants now. The rest is cleared before a job is taken.

use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::Terms as Size;
use thermocline_wire::fleet::Terms;
use tokio::sync::oneshot;

use super::Agent;

/// How long gateways may take to tell all their queues: they do so every five seconds.
const TOLD_WITHIN: Duration = Duration::from_secs(6);

/// What waits for gateways to tell what they want.
pub(super) struct Adoption {
    by: Moment,
    decided: oneshot::Sender<()>,
}

impl Agent {
    /// Something was left; `decided` is told once the gateways have been heard.
    pub(super) fn await_gateways(&mut self, decided: oneshot::Sender<()>) {
        let by = self.clock.now() + TOLD_WITHIN;
        self.adoption = Some(Adoption { by, decided });
        self.adopt_left(self.clock.now());
    }

    /// Adopts, once, what is wanted as it was left.
    pub(super) fn adopt_left(&mut self, now: Moment) {
        let told = self.demands.is_whole();
        let Some(adoption) = self.adoption.take_if(|it| told || now >= it.by) else {
            return;
        };
        let spoken_of = self.demands.queues().into_iter().map(str::to_owned);
        let queues: Vec<String> = spoken_of.collect();
        queues.iter().for_each(|queue| self.adopt(queue, now));
        let _runtime_ended = adoption.decided.send(());
    }

    fn adopt(&mut self, queue: &str, now: Moment) {
        let Some((work, terms)) = self.work(queue) else {
            return;
        };
        for devices in self.places(&terms) {
            let gpus = self.memory.uuids(&devices);
            if self.runtime.adopt(queue, &work.generation, &gpus) {
                tracing::info!(
                    deployment = queue,
                    "adopted: an earlier life left it running"
                );
                self.residents.adopt(queue, terms, devices, now);
                self.spawn_load(queue, gpus, Vec::new(), work.reply_to);
                return;
            }
        }
    }

    /// Where a model on `terms` may have been: on any one device with room, or over all.
    fn places(&self, terms: &Terms) -> Vec<Vec<usize>> {
        let size = Size::from(terms);
        let free = self.free();
        let has_room = |device: &usize| free[*device] >= size.share();
        let with_room: Vec<usize> = (0..free.len()).filter(has_room).collect();
        match size.spread() {
            1 => with_room.into_iter().map(|device| vec![device]).collect(),
            spread if spread == with_room.len() => vec![with_room],
            _ => Vec::new(),
        }
    }
}
