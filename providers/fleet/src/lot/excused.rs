use super::{Entry, Lot, Stage};
use crate::excuse::Excuse;
use crate::parked::Reply;

impl Lot {
    /// Tells every request of `deployment` that it is gone.
    pub(crate) fn withdraw(&mut self, deployment: &str) {
        self.excuse(deployment, Excuse::Withdrawn, |_| true);
    }

    /// Tells those that no worker has begun why none will.
    pub(crate) fn excuse_waiting(&mut self, deployment: &str, why: Excuse) {
        self.excuse(deployment, why, |entry| entry.stage == Stage::Waiting);
    }

    /// Ends those of `deployment` that `which` names and that are not being answered.
    fn excuse(&mut self, deployment: &str, why: Excuse, which: impl Fn(&Entry) -> bool) {
        if self.queues.is_idle(deployment) {
            return;
        }
        let of_it = |entry: &&Entry| {
            *entry.parked.deployment == *deployment && entry.client.is_some() && which(entry)
        };
        let ids = self.entries.values().filter(of_it);
        let ids: Vec<String> = ids.map(|entry| entry.parked.id.clone()).collect();
        for id in ids {
            let client = self.remove(&id, why.into()).and_then(|it| it.client);
            if let Some(client) = client {
                let _gone = client.send(Reply::Excused(why));
            }
        }
    }
}
