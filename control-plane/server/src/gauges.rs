//! How every deployment is, told each second to who asked for it: first all,
//! then those that have changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_policy::Tier;
use thermocline_wire::rfc3339;

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::series::usd_per_hour;

/// How often they are read.
const EVERY: Duration = Duration::from_secs(1);

/// The gauges from now on, one `gauges` event a second. They have no number:
/// who resumes gets all of them again.
pub(crate) fn stream(control: Arc<ControlPlane>) -> impl Stream<Item = Event> + Send {
    let told: Option<BTreeMap<String, Value>> = None;
    stream::unfold((control, told), |(control, told)| async move {
        if told.is_some() {
            let clock: Clock = control.clock.clone();
            clock.sleep(EVERY).await;
        }
        let now = control.gauges();
        let message = changes(told.as_ref(), &now, control.clock.wall_micros());
        let event = Event::default().event("gauges").data(message.to_string());
        Some((event, (control, Some(now))))
    })
}

fn changes(
    told: Option<&BTreeMap<String, Value>>,
    now: &BTreeMap<String, Value>,
    at: i64,
) -> Value {
    let news = |(name, gauge): &(&String, &Value)| {
        told.and_then(|told| told.get(*name))
            .is_none_or(|old| old != *gauge)
    };
    let items: Vec<&Value> = now.iter().filter(news).map(|(_, gauge)| gauge).collect();
    let old = told.into_iter().flat_map(BTreeMap::keys);
    let gone: Vec<&String> = old.filter(|name| !now.contains_key(*name)).collect();
    json!({ "at": rfc3339(at), "all": told.is_none(), "items": items, "gone": gone })
}

impl ControlPlane {
    fn gauges(&self) -> BTreeMap<String, Value> {
        let all = self.all();
        let named = all.iter().map(|d| (d.live.name.to_string(), self.gauge(d)));
        named.collect()
    }

    /// One deployment in as few words as a map of all of them needs.
    fn gauge(&self, deployment: &Controlled) -> Value {
        let live = &deployment.live;
        let config = live.config.load();
        let has = config.spec.tiers.set();
        let tiers: Vec<Tier> = Tier::ALL
            .into_iter()
            .filter(|tier| has.has(*tier))
            .collect();
        let thresholds = config.settings.thresholds;
        let mut gauge = self.summary_json(deployment);
        gauge["name"] = json!(&*live.name);
        gauge["generation"] = json!(config.generation);
        gauge["tiers"] = json!(tiers);
        gauge["promote_rps"] = json!(thresholds.promote_rps);
        gauge["demote_rps"] = json!(thresholds.demote_rps);
        gauge["forced"] = json!(live.view(self.clock.now()).forced);
        gauge["p95_s"] = json!(deployment.series.recent_p95().map(thousandths));
        gauge["usd_per_hour"] = json!(usd_per_hour(deployment).as_usd());
        gauge
    }
}

fn thousandths(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauges(all: &[(&str, u32)]) -> BTreeMap<String, Value> {
        let named = all.iter().map(|(name, n)| ((*name).to_owned(), json!(n)));
        named.collect()
    }

    #[test]
    fn first_all_are_told_then_what_has_changed() {
        let before = gauges(&[("a", 1), ("b", 1), ("c", 1)]);
        let first = changes(None, &before, 0);
        assert_eq!(
            (&first["all"], &first["items"]),
            (&json!(true), &json!([1, 1, 1]))
        );
        let after = gauges(&[("a", 1), ("b", 2)]);
        let then = changes(Some(&before), &after, 0);
        assert_eq!(
            (&then["items"], &then["gone"]),
            (&json!([2]), &json!(["c"]))
        );
        assert_eq!(changes(Some(&after), &after, 0)["items"], json!([]));
    }
}
