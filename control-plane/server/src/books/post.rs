use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{SLOT, Tier};
use thermocline_store::{
    LedgerEntry, Measure, MeasureRow, Postings, SlotArrivals, StoreError, WhatIfEntry,
};
use thermocline_table::Sketch;

use super::{Books, Paid};
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// How often the books are written down.
const EVERY: Duration = Duration::from_secs(60);
/// How long arrivals are kept.
const ARRIVALS_KEPT: Duration = Duration::from_secs(3 * 86_400);

impl ControlPlane {
    /// Takes up what an earlier process wrote down.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn open_books(&self) -> Result<(), StoreError> {
        for entry in self.store.paid().await? {
            if let Some(deployment) = self.deployment(&entry.deployment) {
                let paid = Paid {
                    micros: entry.micros,
                    cost: entry.cost,
                };
                let payee = (entry.tier, entry.provider);
                deployment.books.kept().paid.insert(payee, paid);
            }
        }
        for row in self.store.measures().await? {
            if let Some(deployment) = self.deployment(&row.deployment) {
                sketch(&deployment, row.tier, row.what).restore(&row.counts);
            }
        }
        Ok(())
    }

    /// Writes the books down each minute, and once more when the process ends.
    pub(crate) async fn post_books(self: Arc<Self>) {
        loop {
            let next = self.clock.now() + EVERY;
            let drained = tokio::select! {
                () = self.clock.sleep_until(next) => false,
                () = self.drain.cancelled() => true,
            };
            self.post().await;
            if drained {
                return;
            }
        }
    }

    /// What a deployment that goes has cost is not forgotten with it.
    pub(crate) fn close_books(&self, deployment: &Controlled) {
        let mut unposted = self.unposted.lock().unwrap_or_else(|e| e.into_inner());
        deployment.books.draw(&deployment.live.name, &mut unposted);
    }

    /// Writes the books down now.
    pub(crate) async fn post(&self) {
        let deployments = self.all();
        deployments.iter().for_each(|d| self.close_books(d));
        let unposted = || self.unposted.lock().unwrap_or_else(|e| e.into_inner());
        let postings = std::mem::take(&mut *unposted());
        let slot = SLOT.as_micros() as i64;
        let oldest = self.clock.wall_micros() - ARRIVALS_KEPT.as_micros() as i64;
        if let Err(error) = self.store.post(&postings, oldest.div_euclid(slot)).await {
            tracing::warn!(%error, "the books could not be written down");
            // They wait for the next time.
            unposted().append(postings);
        }
        let measures: Vec<MeasureRow> = deployments.iter().flat_map(|d| measures(d)).collect();
        if let Err(error) = self.store.save_measures(&measures).await {
            tracing::warn!(%error, "measures could not be written down");
        }
    }
}

impl Books {
    /// Moves what is not written down yet into `postings`.
    fn draw(&self, name: &str, postings: &mut Postings) {
        let unposted = std::mem::take(&mut self.kept().unposted);
        let paid = unposted.paid.into_iter();
        postings
            .ledger
            .extend(paid.map(|((hour, (tier, provider)), paid)| LedgerEntry {
                hour,
                deployment: name.to_owned(),
                tier,
                provider,
                micros: paid.micros,
                cost: paid.cost,
            }));
        let what_if = unposted.what_if.into_iter();
        postings
            .what_if
            .extend(what_if.map(|(hour, sum)| WhatIfEntry {
                hour,
                deployment: name.to_owned(),
                arrivals: sum.arrivals,
                serverless: sum.serverless,
                pod: sum.pod,
                optimum: sum.optimum,
            }));
        let arrivals = unposted.arrivals.into_iter();
        postings
            .arrivals
            .extend(arrivals.map(|(slot, arrivals)| SlotArrivals {
                slot,
                deployment: name.to_owned(),
                arrivals,
            }));
    }
}

fn sketch(deployment: &Controlled, tier: Tier, what: Measure) -> &Sketch {
    let tally = &deployment.live.tally;
    match what {
        Measure::Service => &tally.service[tier],
        Measure::Start => &tally.starts[tier],
    }
}

fn measures(deployment: &Controlled) -> Vec<MeasureRow> {
    let kinds = [Measure::Service, Measure::Start];
    let all = Tier::ALL
        .into_iter()
        .flat_map(|tier| kinds.map(|what| (tier, what)));
    all.map(|(tier, what)| MeasureRow {
        deployment: deployment.live.name.to_string(),
        tier,
        what,
        counts: sketch(deployment, tier, what).counts(),
    })
    .filter(|row| !row.counts.is_empty())
    .collect()
}
