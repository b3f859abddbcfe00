//! What pods cost while no process counted it: the end of one that was killed, and
//! the time until the next.

use std::collections::HashMap;
use std::iter;
use std::time::Duration;

use thermocline_policy::{Calendar, InstanceState, Moment, Tier, UsdPerSecond};
use thermocline_store::{Charged, InstanceRow, Postings, StoreError};

use super::keep::paid_for;
use super::{Kept, Payee};
use crate::control::ControlPlane;
use crate::deployment::Controlled;

impl ControlPlane {
    /// Charges the pods of earlier processes, which are `rows`, from where the ledger
    /// ends for each of them until now.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn charge_absence(&self, rows: &[InstanceRow]) -> Result<(), StoreError> {
        let now = self.clock.wall_micros();
        let charged = self.store.charged().await?.into_iter();
        let charged: HashMap<_, _> = charged.map(|it| (it.instance.clone(), it)).collect();
        for row in rows {
            let deployment = self.deployment(&row.deployment);
            if let (Some(deployment), Some(charged)) = (deployment, charged.get(&row.id)) {
                let until = charged.ends_by.map_or(now, |end| end.min(now));
                deployment.books.kept().charge(row, charged.until, until);
            }
        }
        Ok(())
    }

    /// Notes in `postings` that they hold all that the deployment's pods cost until
    /// `counted`.
    pub(super) fn mark_charged(
        &self,
        deployment: &Controlled,
        counted: Moment,
        postings: &mut Postings,
    ) {
        let (now, wall) = (self.clock.now(), self.clock.wall_micros());
        let instances = deployment.instances().into_iter();
        let pods = instances.filter(|i| i.tier == Tier::Pod && i.state() != InstanceState::Gone);
        postings.charged.extend(pods.map(|pod| {
            Charged {
                instance: pod.id.clone(),
                until: wall - micros(now.since(counted.max(pod.since))),
                ends_by: self
                    .lifetime(&pod.provider)
                    .map(|lifetime| wall.saturating_add(micros(lifetime))),
            }
        }));
    }
}

impl Kept {
    /// Charges a pod that existed `from` then `to` then, microseconds since 1970.
    fn charge(&mut self, pod: &InstanceRow, from: i64, to: i64) {
        let price = pod
            .usd_per_hour
            .and_then(|p| UsdPerSecond::hourly(p.as_usd()));
        let Some(price) = price.filter(|_| is_paid(pod)) else {
            return;
        };
        let payee: Payee = (pod.tier, pod.provider.clone());
        for (at, span) in by_hour(from, to) {
            // Nobody handed it a request.
            let usd = price.over(span);
            self.enter(at, payee.clone(), paid_for(span, usd, usd));
        }
    }
}

/// Whether the books would count it.
fn is_paid(pod: &InstanceRow) -> bool {
    let exists = !matches!(pod.state, InstanceState::Intended | InstanceState::Gone);
    pod.tier == Tier::Pod && exists
}

/// How much of each hour of UTC lies between two times, microseconds since 1970.
fn by_hour(from: i64, to: i64) -> impl Iterator<Item = (Calendar, Duration)> {
    let mut from = from;
    iter::from_fn(move || {
        let at = Calendar::at(from);
        let end = at.next_hour().min(to);
        let span = u64::try_from(end - from).ok().filter(|span| *span > 0)?;
        from = end;
        Some((at, Duration::from_micros(span)))
    })
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn minutes(from: i64, to: i64) -> Vec<(i64, u64)> {
        by_hour(from * MINUTE, to * MINUTE)
            .map(|(at, span)| (at.hour(), span.as_secs() / 60))
            .collect()
    }

    #[test]
    fn an_absence_is_charged_to_the_hours_that_it_was_in() {
        assert_eq!(minutes(10, 50), [(0, 40)]);
        assert_eq!(minutes(50, 190), [(0, 10), (1, 60), (2, 60), (3, 10)]);
        assert_eq!(minutes(60, 120), [(1, 60)]);
    }

    #[test]
    fn a_wall_clock_that_went_back_charges_nothing() {
        assert_eq!(minutes(50, 50), []);
        assert_eq!(minutes(50, 10), []);
    }
}
