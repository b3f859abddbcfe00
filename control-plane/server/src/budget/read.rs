//! How budgets read.

use serde_json::{Value, json};
use thermocline_policy::{Brake, InstanceEvent, NanoUsd, Tier};
use thermocline_wire::rfc3339;

use super::Braking;
use super::until::until;
use crate::control::ControlPlane;
use crate::deployment::Controlled;

impl ControlPlane {
    /// What a day of the deployment may cost.
    pub(crate) fn daily_budget(&self, deployment: &Controlled) -> Option<NanoUsd> {
        deployment.with_spec(|spec| self.ceilings(spec).usd_per_day)
    }

    /// What it has cost since midnight UTC.
    pub(crate) fn spent_today(&self, deployment: &Controlled) -> NanoUsd {
        let day = self.calendar().first_hour_of_day();
        deployment.books.spent_today(day)
    }

    /// What the deployment's budget is, what is spent of it, and what it and the
    /// server's ceilings forbid; null where nothing limits it.
    pub(crate) fn budget_json(&self, deployment: &Controlled) -> Value {
        let ceilings = deployment.with_spec(|spec| self.ceilings(spec));
        if ceilings.is_none() {
            return Value::Null;
        }
        let at = self.calendar();
        let spending = self.spending(deployment, &deployment.instances());
        let braking = deployment.braking();
        json!({
            "usd_per_day": ceilings.usd_per_day.map(NanoUsd::as_usd),
            "spent_today_usd": spending.today.as_usd(),
            "committed_usd_per_hour": spending.own.usd_per_hour.as_usd(),
            "resets_at": rfc3339(at.next_day()),
            "serverless": self.brake_json(deployment, &braking, Tier::Serverless),
            "pod": self.brake_json(deployment, &braking, Tier::Pod),
            "server": {
                "usd_per_hour": ceilings.usd_per_hour.map(NanoUsd::as_usd),
                "spent_this_hour_usd": spending.this_hour.as_usd(),
                "committed_usd_per_hour": spending.all.usd_per_hour.as_usd(),
                "instances": ceilings.instances,
                "live_instances": spending.all.instances,
            },
        })
    }

    /// Why pods are drained, where a budget does it.
    pub(crate) fn why_braked(
        &self,
        deployment: &Controlled,
        tier: Tier,
        event: InstanceEvent,
    ) -> Option<String> {
        let ends = matches!(event, InstanceEvent::Drain | InstanceEvent::Stop);
        let braking = deployment.braking();
        let stopped = ends && tier == Tier::Pod && braking.brakes[tier] == Brake::Stop;
        let why = braking.why[tier].filter(|_| stopped)?;
        Some(format!("budget: {why}"))
    }

    pub(super) fn tell_brake(&self, deployment: &Controlled, tier: Tier, braking: &Braking) {
        let brake = braking.brakes[tier];
        let text = match (brake, braking.why[tier]) {
            (Brake::NoStart, Some(why)) => format!("no {tier} is started: {why}"),
            (Brake::Stop, Some(why)) => format!("{tier} is stopped: {why}"),
            _ => format!("{tier} may be used again"),
        };
        let kind = match brake {
            Brake::Off => "budget.released",
            Brake::NoStart | Brake::Stop => "budget.braked",
        };
        let body = json!({ "tier": tier, "brake": brake, "reason": "budget" });
        self.events
            .tell(kind, Some(&deployment.live.name), &text, body);
    }

    fn brake_json(&self, deployment: &Controlled, braking: &Braking, tier: Tier) -> Value {
        let asked_again = deployment.with_spec(|spec| self.price_asked_again(spec, tier));
        let why = braking.why[tier];
        json!({
            "brake": braking.brakes[tier],
            "why": why.map(|why| why.to_string()),
            "until": why.map(|why| until(&why, self.calendar(), asked_again)),
        })
    }
}
