//! Changes of tier: written down with their inputs, and told.

use std::sync::Arc;

use serde_json::json;
use thermocline_policy::{Decision, Moment, Tier, Transition};
use thermocline_store::NewDecision;
use thermocline_table::{Deployment, Wish};
use tokio::sync::mpsc;

use crate::control::ControlPlane;
use crate::costs::costs_json;
use crate::deployment::Controlled;
use crate::status::decision_inputs;

/// A decision to be written down.
pub(crate) struct Note(NewDecision);

impl ControlPlane {
    /// Notes a change of tier and brings the new tier up before the old one goes.
    /// What an idle stop leads to is noted, but nobody waits for it.
    pub(crate) fn note_transition(
        self: &Arc<Self>,
        live: &Arc<Deployment>,
        transition: Transition,
        now: Moment,
    ) {
        let Transition { from, to, reason } = transition;
        let note = Note(NewDecision {
            deployment: live.name.to_string(),
            at: self.clock.wall_micros(),
            from: Some(from),
            to,
            reason: reason.to_string(),
            refused: false,
            inputs: self.inputs(live, from, now),
        });
        // The channel ends with the process only.
        let _ = self.notes.send(note);
        if transition.is_idle_stop() {
            return; // told where the pod was stopped; nothing has to be brought up
        }
        let text = format!("{from} → {to}: {reason}");
        let body = json!({ "from": from, "to": to, "reason": reason.as_str(), "rps": live.observe(now).rps });
        self.events
            .tell("transition", Some(&live.name), &text, body);
        self.make_before_break(live, to);
    }

    /// Notes a transition that the rate asks for and something refuses, once
    /// for as long as it stays so.
    pub(crate) fn note_refusal(&self, deployment: &Controlled, decision: &Decision, now: Moment) {
        let tiers = deployment.with_spec(|spec| spec.tiers.set());
        let refused = decision.refused().filter(|to| tiers.has(*to));
        let refused = refused.map(|to| (to, decision.reason));
        if !deployment.refusal_changed(refused) {
            return;
        }
        let Some((to, reason)) = refused else {
            return;
        };
        let live = &deployment.live;
        // The channel ends with the process only.
        let _ = self.notes.send(Note(NewDecision {
            deployment: live.name.to_string(),
            at: self.clock.wall_micros(),
            from: Some(decision.tier),
            to,
            reason: reason.to_string(),
            refused: true,
            inputs: self.inputs(live, decision.tier, now),
        }));
        let text = format!("stays on {}: {reason} refuses {to}", decision.tier);
        let body = json!({ "from": decision.tier, "to": to, "reason": reason.as_str() });
        self.events
            .tell("transition.refused", Some(&live.name), &text, body);
    }

    /// What a decision on `tier` was made from, and what it meant in money.
    fn inputs(&self, live: &Deployment, tier: Tier, now: Moment) -> String {
        let mut inputs = decision_inputs(live, now);
        if let Some(deployment) = self.deployment(&live.name) {
            inputs["costs"] = costs_json(&deployment, tier, now);
        }
        inputs.to_string()
    }

    fn make_before_break(self: &Arc<Self>, live: &Arc<Deployment>, to: Tier) {
        if live.capacity.load().serves(to) || to == Tier::Dedicated {
            return;
        }
        if let Some(deployment) = self.deployment(&live.name) {
            self.bring_up(&deployment, to);
        }
    }

    /// Has `tier` brought up, whoever waits for it.
    pub(crate) fn bring_up(self: &Arc<Self>, deployment: &Arc<Controlled>, tier: Tier) {
        // Asked for and published before anybody is answered.
        let wish = Wish::standing();
        let requested = deployment.request(tier, &wish);
        self.publish(deployment);
        let (control, live) = (self.clone(), deployment.live.clone());
        self.runtime.spawn(async move {
            let _requested = requested;
            if let Err(error) = control.wake(&live, tier, &wish).await {
                tracing::info!(deployment = %live.name, %tier, %error, "it did not come up");
            }
        });
    }

    pub(crate) async fn write_notes(self: Arc<Self>, mut noted: mpsc::UnboundedReceiver<Note>) {
        while let Some(Note(decision)) = noted.recv().await {
            if let Err(error) = self.store.append_decision(&decision).await {
                tracing::warn!(%error, "a decision could not be written down");
            }
        }
    }
}
