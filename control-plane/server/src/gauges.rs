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
/// How long the rest of many waits, so that the first are drawn before it comes.
const REMAINDER_AFTER: Duration = Duration::from_millis(200);
/// So many are told alone at first: a page has something to draw at once.
const FIRST: usize = 50;

type Gauges = BTreeMap<String, Value>;

/// How far a listener has been told.
enum Told {
    Nothing,
    /// The first of many.
    Some(Gauges),
    All(Gauges),
}

/// The gauges from now on, one `gauges` event a second. They have no number:
/// who resumes gets all of them again.
pub(crate) fn stream(control: Arc<ControlPlane>) -> impl Stream<Item = Event> + Send {
    stream::unfold((control, Told::Nothing), |(control, told)| async move {
        let clock: Clock = control.clock.clone();
        match told {
            Told::Nothing => {}
            Told::Some(_) => clock.sleep(REMAINDER_AFTER).await,
            Told::All(_) => clock.sleep(EVERY).await,
        }
        let most = match told {
            Told::Nothing => FIRST,
            Told::Some(_) | Told::All(_) => usize::MAX,
        };
        let (now, more) = control.gauges(most);
        let message = message(&told, &now, more, control.clock.wall_micros());
        let event = Event::default().event("gauges").data(message.to_string());
        let told = if more {
            Told::Some(now)
        } else {
            Told::All(now)
        };
        Some((event, (control, told)))
    })
}

fn message(told: &Told, now: &Gauges, more: bool, at: i64) -> Value {
    let before = match told {
        Told::Nothing => None,
        Told::Some(gauges) | Told::All(gauges) => Some(gauges),
    };
    let news = |(name, gauge): &(&String, &Value)| {
        before
            .and_then(|before| before.get(*name))
            .is_none_or(|old| old != *gauge)
    };
    let items: Vec<&Value> = now.iter().filter(news).map(|(_, gauge)| gauge).collect();
    let old = before.into_iter().flat_map(BTreeMap::keys);
    let gone: Vec<&String> = old.filter(|name| !now.contains_key(*name)).collect();
    json!({
        "at": rfc3339(at),
        "all": before.is_none(),
        "more": more,
        "items": items,
        "gone": gone,
    })
}

impl ControlPlane {
    /// The gauges of the first `most` by name, and whether there are more.
    fn gauges(&self, most: usize) -> (Gauges, bool) {
        let all = self.all();
        let first = all.iter().take(most);
        let named = first.map(|d| (d.live.name.to_string(), self.gauge(d)));
        (named.collect(), all.len() > most)
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
        let thresholds = live.thresholds();
        let mut gauge = self.summary_json(deployment);
        gauge["name"] = json!(&*live.name);
        gauge["generation"] = json!(config.generation);
        gauge["tiers"] = json!(tiers);
        gauge["promote_rps"] = json!(thresholds.promote_rps);
        gauge["demote_rps"] = json!(thresholds.demote_rps);
        gauge["forced"] = json!(live.view(self.clock.now()).forced);
        gauge["p95_s"] = json!(deployment.series.recent_p95().map(thousandths));
        gauge["last_error"] = json!(deployment.last_error());
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

    fn gauges(all: &[(&str, u32)]) -> Gauges {
        let named = all.iter().map(|(name, n)| ((*name).to_owned(), json!(n)));
        named.collect()
    }

    #[test]
    fn first_all_are_told_then_what_has_changed() {
        let before = gauges(&[("a", 1), ("b", 1), ("c", 1)]);
        let first = message(&Told::Nothing, &before, false, 0);
        assert_eq!(
            (&first["all"], &first["items"]),
            (&json!(true), &json!([1, 1, 1]))
        );
        let after = gauges(&[("a", 1), ("b", 2)]);
        let then = message(&Told::All(before), &after, false, 0);
        assert_eq!(
            (&then["items"], &then["gone"]),
            (&json!([2]), &json!(["c"]))
        );
        let quiet = message(&Told::All(after.clone()), &after, false, 0);
        assert_eq!(quiet["items"], json!([]));
    }

    #[test]
    fn of_many_the_rest_follows_the_first() {
        let first = gauges(&[("a", 1)]);
        let told = message(&Told::Nothing, &first, true, 0);
        assert_eq!((&told["all"], &told["more"]), (&json!(true), &json!(true)));
        let rest = message(&Told::Some(first), &gauges(&[("a", 1), ("b", 2)]), false, 0);
        assert_eq!(
            (&rest["all"], &rest["more"], &rest["items"]),
            (&json!(false), &json!(false), &json!([2]))
        );
    }
}
