//! How a deployment reads.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::{Brake, LocalFit, Moment, PodState, Reason, Tier, View};
use thermocline_store::InstanceRow;
use thermocline_table::{Deployment, StartFailed};
use thermocline_wire::{rfc3339, spec_to_json};

use crate::control::ControlPlane;
use crate::costs::costs_json;
use crate::deployment::Controlled;
use crate::instance::Instance;
use crate::out_of_reach::WHY;

/// What a deployment is doing, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Starting,
    Running,
    Draining,
    Stopped,
    Failed,
    Deleting,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Starting => "starting",
            State::Running => "running",
            State::Draining => "draining",
            State::Stopped => "stopped",
            State::Failed => "failed",
            State::Deleting => "deleting",
        }
    }
}

impl ControlPlane {
    /// The whole deployment: what is asked for, and how it is.
    pub(crate) fn deployment_json(&self, deployment: &Controlled) -> Value {
        let row = deployment.row();
        json!({
            "name": row.name,
            "generation": row.generation,
            "created_at": rfc3339(row.created_at),
            "updated_at": rfc3339(row.updated_at),
            "spec": deployment.with_spec(spec_to_json),
            "status": self.status_json(deployment),
        })
    }

    fn status_json(&self, deployment: &Controlled) -> Value {
        let mut status = self.summary_json(deployment);
        let instances = deployment.instances();
        let known = instances.iter().map(|i| instance_json(i));
        let all = known.chain(self.out_of_reach(Some(&deployment.live.name)));
        status["instances"] = all.collect();
        let told = deployment.with_spec(|spec| {
            let unserved = self.unserved(spec).into_iter().collect();
            [self.silences(spec), self.unlisted(spec), unserved].concat()
        });
        let unresized = self.unresized(deployment);
        status["warnings"] = [told, unresized, deployment.unchecked()].concat().into();
        status["budget"] = self.budget_json(deployment);
        status
    }

    /// What keeps it from being started or stopped, for people.
    pub(crate) fn obstacles(&self, deployment: &Controlled) -> Vec<String> {
        let providers =
            deployment.with_spec(|spec| [self.silences(spec), self.unlisted(spec)].concat());
        let failed = Tier::CREATED.into_iter().filter_map(|tier| {
            let StartFailed { code, detail, .. } = deployment.failure(tier)?;
            Some(format!("the last {tier} start failed: {code}: {detail}"))
        });
        let deletion = deployment.last_error();
        let all = providers.into_iter().chain(failed).chain(deletion);
        all.collect()
    }

    /// Its status but for its instances.
    pub(crate) fn summary_json(&self, deployment: &Controlled) -> Value {
        let now = self.clock.now();
        let live = &deployment.live;
        let state = self.state(deployment, &deployment.instances(), now);
        let mut status = json!({
            "state": state.as_str(),
            "tier": live.current().or_else(|| pinned(live)),
            "reason": self.reason(deployment, state, now),
            "rps": live.observe(now).rps,
            "in_flight": live.in_flight(),
            "waiting": live.waiting(),
        });
        let unreached = (!self.out_of_reach(Some(&live.name)).is_empty()).then(|| WHY.to_owned());
        let failure = || {
            let StartFailed { code, detail, .. } = deployment.last_failure()?;
            (state == State::Failed).then(|| format!("{code}: {detail}"))
        };
        let error = deployment.last_error().or(unreached);
        if let Some(error) = error.or_else(failure) {
            status["last_error"] = json!(error);
        }
        status
    }

    fn state(&self, deployment: &Controlled, instances: &[Arc<Instance>], now: Moment) -> State {
        let config = deployment.live.config.load();
        let live = &deployment.live;
        if config.deleting {
            return State::Deleting;
        }
        if config.stopped {
            return if live.in_flight() > 0 {
                State::Draining
            } else {
                State::Stopped
            };
        }
        let runs = Tier::ALL.into_iter().any(|tier| live.is_warm(tier, now));
        if runs {
            return State::Running;
        }
        if live.waiting() > 0 || instances.iter().any(|i| i.state().is_starting()) {
            return State::Starting;
        }
        match has_failed(deployment, now) {
            true => State::Failed,
            false => State::Idle,
        }
    }

    /// Whether the tier that would serve next is to be had from a provider that
    /// does not answer.
    fn waits_for_silent(&self, deployment: &Controlled) -> bool {
        let tier = deployment.live.decide(self.clock.now()).tier;
        deployment
            .with_spec(|spec| self.silent(spec, tier))
            .is_some()
    }

    fn reason(&self, deployment: &Controlled, state: State, now: Moment) -> String {
        let failure = deployment.last_failure();
        match (state, failure) {
            (State::Failed, Some(error)) => format!("{}: {}", error.code, error.detail),
            (State::Running | State::Idle, Some(error))
                if deployment.live.current() != Some(Tier::Dedicated) =>
            {
                format!("another start failed: {}: {}", error.code, error.detail)
            }
            (State::Stopped | State::Draining, _) => "stopped by a person".to_owned(),
            (State::Idle | State::Starting, _) if self.waits_for_silent(deployment) => {
                deployment.with_spec(|spec| self.silences(spec)).join("; ")
            }
            _ => deployment.live.decide(now).reason.to_string(),
        }
    }
}

/// Whether no tier is left that could serve the next request: the last start of
/// each one failed.
fn has_failed(deployment: &Controlled, now: Moment) -> bool {
    let view = deployment.live.view(now);
    let forced = view.forced.filter(|tier| view.tiers.has(*tier));
    let mut could_serve = Tier::ALL
        .into_iter()
        .filter(|tier| view.tiers.has(*tier) && forced.is_none_or(|forced| forced == *tier));
    could_serve.all(|tier| deployment.has_failed(tier))
}

/// The user's own instance serves before any request has asked.
fn pinned(live: &Deployment) -> Option<Tier> {
    live.capacity
        .load()
        .serves(Tier::Dedicated)
        .then_some(Tier::Dedicated)
}

/// One instance.
pub(crate) fn instance_json(instance: &Instance) -> Value {
    let mut row = instance.row();
    row.usd_per_hour = instance.paid_per_hour();
    row_json(&row)
}

/// One instance as it is written down.
pub(crate) fn row_json(row: &InstanceRow) -> Value {
    json!({
        "id": row.id,
        "deployment": row.deployment,
        "provider": row.provider,
        "tier": row.tier,
        "state": row.state.as_str(),
        "since": rfc3339(row.changed_at),
        "created_at": rfc3339(row.created_at),
        "usd_per_hour": row.usd_per_hour.map(thermocline_policy::NanoUsd::as_usd),
        "detail": row.detail,
    })
}

/// Everything that the decision at `now` depends on.
pub(crate) fn decision_inputs(live: &Deployment, now: Moment) -> Value {
    let view = live.view(now);
    let thresholds = view.thresholds;
    let tiers: Vec<Tier> = Tier::ALL
        .into_iter()
        .filter(|t| view.tiers.has(*t))
        .collect();
    json!({
        "count": view.count,
        "window_s": thresholds.window.as_secs_f64(),
        "rps": live.observe(now).rps,
        "promote_rps": finite(thresholds.promote_rps),
        "demote_rps": finite(thresholds.demote_rps),
        "promote_count": finite(thresholds.promote_count()),
        "demote_count": finite(thresholds.demote_count()),
        "basis": thresholds.basis,
        "hold_s": thresholds.hold.as_secs_f64(),
        "hold_left_s": hold_left(&view).map(|left| left.as_secs_f64()),
        "observed": view.observed,
        "forced": view.forced,
        "local": view.local,
        "pod": view.pod,
        "pod_pinned": view.pod_pinned,
        "pod_in_flight": view.pod_in_flight,
        "brakes": { "serverless": view.brakes[Tier::Serverless], "pod": view.brakes[Tier::Pod] },
        "in_flight": live.in_flight(),
        "waiting": live.waiting(),
        "since_transition_s": view.since_transition.map(|d| d.as_secs_f64()),
        "tiers": tiers,
    })
}

/// What is left of the least time until the tier that the rate may move it to.
fn hold_left(view: &View) -> Option<Duration> {
    match view.current? {
        Tier::Pod => view.hold_left(Tier::Serverless),
        Tier::Serverless => view.hold_left(Tier::Pod),
        Tier::Dedicated | Tier::Local => None,
    }
}

/// `null` for a threshold that no rate reaches.
fn finite(threshold: f64) -> Option<f64> {
    threshold.is_finite().then_some(threshold)
}

/// The decision at `now`, with its inputs, what it means in money, and why not
/// the other tiers.
pub(crate) fn decision_json(deployment: &Controlled, now: Moment, wall: i64) -> Value {
    let live = &deployment.live;
    let view = live.view(now);
    let decision = thermocline_policy::decide(&view);
    let meanwhile = decision
        .meanwhile
        .map(|(tier, reason)| json!({ "tier": tier, "reason": reason }));
    let others = Tier::ALL
        .into_iter()
        .filter(|tier| view.tiers.has(*tier) && *tier != decision.tier);
    let alternatives: Vec<Value> = others
        .map(|tier| json!({ "tier": tier, "reason": why_not(tier, &view, decision.reason) }))
        .collect();
    json!({
        "deployment": &*live.name,
        "at": rfc3339(wall),
        "tier": decision.tier,
        "reason": decision.reason,
        "meanwhile": meanwhile,
        "stopped": live.config.load().stopped,
        "current": view.current,
        "inputs": decision_inputs(live, now),
        "alternatives": alternatives,
        "idle_stop": deployment.idle_stop().map(|stop| json!({ "tier": stop.tier, "at": rfc3339(stop.at) })),
        "costs": costs_json(deployment, decision.tier, now),
    })
}

/// Why `tier` was not chosen, given the rule that fired.
fn why_not(tier: Tier, view: &View, fired: Reason) -> Value {
    match tier {
        Tier::Local if view.local != LocalFit::Fits => json!(view.local),
        _ if view.brakes[tier] != Brake::Off => json!(Reason::Budget),
        Tier::Pod if view.pod == PodState::BackingOff => json!(Reason::NoCapacity),
        _ => json!(fired),
    }
}
