//! How starts went: create, boot, ready, first answer. The newest few, in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};
use thermocline_policy::{InstanceState, Moment, Tier};
use thermocline_wire::rfc3339;

use crate::instance::Instance;

/// How many are kept.
const KEPT: usize = 512;

/// The starts of this process, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ColdStarts(Mutex<VecDeque<ColdStart>>);

/// One start, as far as it is known.
#[derive(Debug)]
struct ColdStart {
    instance: String,
    deployment: String,
    tier: Tier,
    provider: String,
    /// Microseconds since 1970, UTC.
    began_at: i64,
    began: Moment,
    created: Option<Moment>,
    booted: Option<Moment>,
    ready: Option<Moment>,
    answered: Option<Moment>,
    failed: Option<(Moment, String)>,
}

impl ColdStarts {
    /// A start is intended.
    pub(crate) fn began(&self, instance: &Instance) {
        let row = instance.row();
        let mut kept = self.kept();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(ColdStart {
            instance: row.id,
            deployment: row.deployment,
            tier: row.tier,
            provider: row.provider,
            began_at: row.created_at,
            began: instance.since,
            created: None,
            booted: None,
            ready: None,
            answered: None,
            failed: None,
        });
    }

    /// The provider says that the instance runs.
    pub(crate) fn booted(&self, instance: &str, now: Moment) {
        self.change(instance, |start| {
            start.booted.get_or_insert(now);
        });
    }

    /// An instance has moved on.
    pub(crate) fn moved(&self, instance: &str, state: &InstanceState, why: &str, now: Moment) {
        self.change(instance, |start| match state {
            InstanceState::Starting { .. } => {
                start.created.get_or_insert(now);
            }
            InstanceState::Ready { .. } => {
                start.ready.get_or_insert(now);
            }
            InstanceState::Stopping { .. } | InstanceState::Gone if start.ready.is_none() => {
                start.failed.get_or_insert((now, why.to_owned()));
            }
            _ => {}
        });
    }

    /// A request that waited for a start of `tier` was sent, and answered whole.
    pub(crate) fn answered(&self, deployment: &str, tier: Tier, sent: Moment, answered: Moment) {
        let mut kept = self.kept();
        let of = |start: &&mut ColdStart| {
            start.deployment == deployment
                && start.tier == tier
                && start.ready.is_some_and(|ready| ready <= sent)
        };
        if let Some(start) = kept.iter_mut().rev().find(of) {
            start.answered.get_or_insert(answered);
        }
    }

    /// All, newest first; those of `deployment` alone where it is named.
    pub(crate) fn json(&self, deployment: Option<&str>) -> Vec<Value> {
        let kept = self.kept();
        let of = |start: &&ColdStart| deployment.is_none_or(|name| start.deployment == name);
        kept.iter().rev().filter(of).map(ColdStart::json).collect()
    }

    fn change(&self, instance: &str, change: impl FnOnce(&mut ColdStart)) {
        let mut kept = self.kept();
        if let Some(start) = kept.iter_mut().rev().find(|s| s.instance == instance) {
            change(start);
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<ColdStart>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl ColdStart {
    fn json(&self) -> Value {
        let state = match (&self.failed, self.ready) {
            (Some(_), _) => "failed",
            (None, Some(_)) => "ready",
            (None, None) => "starting",
        };
        json!({
            "instance": self.instance,
            "deployment": self.deployment,
            "tier": self.tier,
            "provider": self.provider,
            "at": rfc3339(self.began_at),
            "state": state,
            "reason": self.failed.as_ref().map(|(_, why)| why),
            "spans": self.spans(),
        })
    }

    /// What is over, each from where the one before ended.
    fn spans(&self) -> Vec<Value> {
        let failed = self.failed.as_ref().map(|(at, _)| *at);
        let ends = [
            ("create", self.created),
            ("boot", self.booted),
            ("ready", self.ready),
            ("answer", self.answered),
            ("failed", failed),
        ];
        let mut from = self.began;
        let known = ends
            .into_iter()
            .filter_map(|(name, end)| Some((name, end?)));
        known
            .map(|(name, end)| {
                let span = json!({
                    "name": name,
                    "start_s": from.since(self.began).as_secs_f64(),
                    "end_s": end.max(from).since(self.began).as_secs_f64(),
                });
                from = end.max(from);
                span
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::ORIGIN + Duration::from_secs(seconds)
    }

    fn one() -> ColdStarts {
        let start = ColdStart {
            instance: "i".into(),
            deployment: "m".into(),
            tier: Tier::Pod,
            provider: "toy".into(),
            began_at: 0,
            began: at(10),
            created: None,
            booted: None,
            ready: None,
            answered: None,
            failed: None,
        };
        ColdStarts(Mutex::new([start].into()))
    }

    fn starting() -> InstanceState {
        InstanceState::Starting {
            provider_id: "p".into(),
        }
    }

    fn ready() -> InstanceState {
        InstanceState::Ready {
            provider_id: "p".into(),
        }
    }

    #[test]
    fn spans_follow_each_other_up_to_the_first_answer() {
        let starts = one();
        starts.moved("i", &starting(), "", at(11));
        starts.booted("i", at(15));
        starts.moved("i", &ready(), "", at(16));
        starts.answered("m", Tier::Pod, at(16), at(18));
        let read = starts.json(None).remove(0);
        assert_eq!(read["state"], "ready");
        let ends: Vec<_> = read["spans"].as_array().unwrap().iter().collect();
        let ends: Vec<_> = ends.iter().map(|s| (&s["name"], &s["end_s"])).collect();
        let expected = json!([
            ["create", 1.0],
            ["boot", 5.0],
            ["ready", 6.0],
            ["answer", 8.0]
        ]);
        assert_eq!(json!(ends), expected);
    }

    #[test]
    fn a_start_that_ends_before_it_is_ready_has_failed_with_its_reason() {
        let starts = one();
        starts.moved("i", &starting(), "", at(11));
        let stopping = InstanceState::Stopping { provider_id: None };
        starts.moved("i", &stopping, "out of memory", at(14));
        let read = starts.json(Some("m")).remove(0);
        assert_eq!(
            (&read["state"], &read["reason"]),
            (&json!("failed"), &json!("out of memory"))
        );
        assert!(starts.json(Some("other")).is_empty());
    }

    #[test]
    fn a_ready_instance_that_stops_later_has_not_failed_to_start() {
        let starts = one();
        starts.moved("i", &ready(), "", at(12));
        starts.moved("i", &InstanceState::Gone, "", at(99));
        assert_eq!(starts.json(None)[0]["state"], "ready");
    }
}
