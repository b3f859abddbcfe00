use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::{Calendar, Moment, NanoUsd, SLOT, Tier};
use thermocline_store::{
    LedgerEntry, Measure, MeasureRow, Postings, SlotArrivals, StoreError, WhatIfEntry,
};
use thermocline_table::Sketch;

use super::{Books, Paid, WhatIf};
use crate::control::ControlPlane;
use crate::deployment::Controlled;

/// How often the books are written down.
const EVERY: Duration = SLOT;
/// What was measured is written down each so many times: less is lost with it.
const MEASURES_EVERY: u32 = 6;
/// How long arrivals are kept.
pub(crate) const ARRIVALS_KEPT: Duration = Duration::from_secs(3 * 86_400);

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
                    usd: entry.cost.as_usd(),
                    idle_usd: entry.idle.as_usd(),
                };
                let payee = (entry.tier, entry.provider);
                deployment.books.kept().paid.insert(payee, paid);
            }
        }
        self.open_comparisons().await?;
        self.open_budgets().await?;
        for row in self.store.measures().await? {
            if let Some(deployment) = self.deployment(&row.deployment) {
                sketch(&deployment, row.tier, row.what).restore(&row.counts);
            }
        }
        Ok(())
    }

    async fn open_comparisons(&self) -> Result<(), StoreError> {
        for sums in self.store.compared().await? {
            if let Some(deployment) = self.deployment(&sums.deployment) {
                let mut kept = deployment.books.kept();
                kept.comparison.resume(what_if(&sums));
            }
        }
        Ok(())
    }

    /// What counts against budgets of this day and of this hour.
    async fn open_budgets(&self) -> Result<(), StoreError> {
        let at = Calendar::at(self.clock.wall_micros());
        let day = at.first_hour_of_day();
        for deployment in self.all() {
            let name = &*deployment.live.name;
            let spent = self.store.spent(Some(name), day).await?;
            deployment.books.kept().today.add(day, spent);
        }
        let spent = self.store.spent(None, at.hour()).await?;
        self.budgets.this_hour.add(at.hour(), spent);
        Ok(())
    }

    /// Writes the books down every ten seconds, what was measured each minute.
    pub(crate) async fn post_books(self: Arc<Self>) {
        for round in 1_u32.. {
            let next = self.clock.now() + EVERY;
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = self.drain.cancelled() => return,
            }
            self.post().await;
            if round.is_multiple_of(MEASURES_EVERY) {
                self.save_measures().await;
            }
        }
    }

    /// Writes down what was paid, what came and what was measured.
    pub(crate) async fn write_books(&self) {
        self.post().await;
        self.save_measures().await;
    }

    /// What a deployment that goes has cost is not forgotten with it.
    pub(crate) fn close_books(&self, deployment: &Controlled) {
        let mut unposted = self.unposted.lock().unwrap_or_else(|e| e.into_inner());
        let counted = deployment.books.draw(&deployment.live.name, &mut unposted);
        self.mark_charged(deployment, counted, &mut unposted);
    }

    /// Writes down what was paid and what came, so that the ledger has all of it.
    pub(crate) async fn post(&self) {
        // Whoever reads the ledger after this misses nothing that is on its way.
        let _one = self.posting.lock().await;
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
    }

    async fn save_measures(&self) {
        let rows: Vec<MeasureRow> = self.all().iter().flat_map(|d| news(d)).collect();
        if rows.is_empty() {
            return;
        }
        if let Err(error) = self.store.save_measures(&rows).await {
            // What comes next is written with it.
            tracing::warn!(%error, "measures could not be written down");
        }
    }
}

impl Books {
    /// Moves what is not written down yet into `postings`; until when that is all.
    fn draw(&self, name: &str, postings: &mut Postings) -> Moment {
        let (unposted, counted) = {
            let mut kept = self.kept();
            (std::mem::take(&mut kept.unposted), kept.counted)
        };
        let paid = unposted.paid.into_iter();
        postings
            .ledger
            .extend(paid.map(|((hour, (tier, provider)), paid)| LedgerEntry {
                hour,
                deployment: name.to_owned(),
                tier,
                provider,
                micros: paid.micros,
                cost: NanoUsd::from_usd(paid.usd),
                idle: NanoUsd::from_usd(paid.idle_usd),
            }));
        let what_if = unposted.what_if.into_iter();
        postings
            .what_if
            .extend(what_if.map(|(hour, sum)| WhatIfEntry {
                hour,
                deployment: name.to_owned(),
                arrivals: sum.arrivals,
                paid: NanoUsd::from_usd(sum.paid),
                serverless: NanoUsd::from_usd(sum.serverless),
                pod: NanoUsd::from_usd(sum.pod),
                optimum: NanoUsd::from_usd(sum.optimum),
            }));
        let arrivals = unposted.arrivals.into_iter();
        postings
            .arrivals
            .extend(arrivals.map(|(slot, arrivals)| SlotArrivals {
                slot,
                deployment: name.to_owned(),
                arrivals,
            }));
        counted
    }
}

fn what_if(entry: &WhatIfEntry) -> WhatIf {
    WhatIf {
        arrivals: entry.arrivals,
        paid: entry.paid.as_usd(),
        serverless: entry.serverless.as_usd(),
        pod: entry.pod.as_usd(),
        optimum: entry.optimum.as_usd(),
    }
}

fn sketch(deployment: &Controlled, tier: Tier, what: Measure) -> &Sketch {
    let tally = &deployment.live.tally;
    match what {
        Measure::Service => &tally.service[tier],
        Measure::Start => &tally.starts[tier],
        // Workers come and go in serverless alone.
        Measure::Woken => &tally.woken,
    }
}

/// What was measured since it was written down last.
fn news(deployment: &Controlled) -> Vec<MeasureRow> {
    let mut kept = deployment.books.kept();
    let kinds = [Measure::Service, Measure::Start];
    let of_tiers = Tier::ALL
        .into_iter()
        .flat_map(|tier| kinds.map(|what| (tier, what)));
    let all = of_tiers.chain([(Tier::Serverless, Measure::Woken)]);
    all.filter_map(|(tier, what)| {
        let sketch = sketch(deployment, tier, what);
        let measured = sketch.measured();
        let before = kept.saved.insert((tier, what), measured);
        let is_news = measured.count > 0 && before != Some(measured);
        is_news.then(|| MeasureRow {
            deployment: deployment.live.name.to_string(),
            tier,
            what,
            counts: sketch.counts(),
        })
    })
    .collect()
}
