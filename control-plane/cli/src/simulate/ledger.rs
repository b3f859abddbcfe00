use std::time::Duration;

use serde::Deserialize;
use thermocline_policy::Moment;
use thermocline_simulate::{Arrival, Assumptions};
use thermocline_wire::rfc3339;

use crate::failure::Failure;
use crate::session::Session;

/// What the server counted: arrivals by slots, evenly spread over each.
#[derive(Debug, Deserialize)]
pub(super) struct Ledger {
    slot_s: u64,
    items: Vec<Slot>,
    #[serde(skip)]
    deployments: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Slot {
    deployment: String,
    slot: u64,
    arrivals: u64,
}

impl Ledger {
    /// Asks the server for what came within `since` until now.
    pub(super) async fn fetch(session: &Session, since: Duration) -> Result<Self, Failure> {
        let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let from = rfc3339(session.clock.wall_micros().saturating_sub(micros));
        let query = [("from", from.as_str())];
        let client = &session.client;
        let document = client.get_where(&["costs", "arrivals"], &query).await?;
        let mut ledger: Ledger = client.view(&document)?;
        if ledger.items.is_empty() {
            return Err(Failure::mistake("the ledger holds no arrival of that time"));
        }
        ledger.items.sort_by_key(|item| item.slot);
        let mut names: Vec<String> = ledger.items.iter().map(|i| i.deployment.clone()).collect();
        names.sort();
        names.dedup();
        ledger.deployments = names;
        Ok(ledger)
    }

    pub(super) fn deployments(&self) -> &[String] {
        &self.deployments
    }

    pub(super) fn arrivals(&self) -> u64 {
        self.items.iter().map(|item| item.arrivals).sum()
    }

    pub(super) fn span(&self) -> Duration {
        let slots = |item: Option<&Slot>| item.map_or(0, |item| item.slot);
        let between = slots(self.items.last()) - slots(self.items.first());
        Duration::from_secs((between + 1) * self.slot_s)
    }

    /// Every arrival in order; those of one slot, deployment by deployment, come together.
    pub(super) fn replay(&self, assumed: &[Assumptions], mut each: impl FnMut(Arrival)) {
        let first = self.items.first().map_or(0, |item| item.slot);
        for slot in self.items.chunk_by(|a, b| a.slot == b.slot) {
            let begin = Duration::from_secs((slot[0].slot - first) * self.slot_s);
            let mut arrivals: Vec<Arrival> = slot
                .iter()
                .flat_map(|item| self.spread(item, begin, assumed))
                .collect();
            arrivals.sort_by_key(|arrival| arrival.at);
            arrivals.into_iter().for_each(&mut each);
        }
    }

    fn spread(&self, item: &Slot, begin: Duration, assumed: &[Assumptions]) -> Vec<Arrival> {
        let place = self.deployments.binary_search(&item.deployment);
        let deployment = place.unwrap_or_default();
        let work = assumed.get(deployment).map(|it| it.model.work);
        let service = work.unwrap_or_default().service;
        let gap = self.slot_s as f64 / item.arrivals.max(1) as f64;
        (0..item.arrivals)
            .map(|i| Arrival {
                at: Moment::from_origin(begin + Duration::from_secs_f64(gap * (i as f64 + 0.5))),
                service,
                deployment,
            })
            .collect()
    }
}
