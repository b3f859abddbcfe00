//! What the last arrivals of a deployment would have cost under another
//! specification: its ledger, replayed through the policy.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::{CostModel, Margins, PolicyMode, SLOT, Settings, Spec, Tier};
use thermocline_simulate::{
    Assumptions, AssumptionsReport, Candidate, Fleet, Ledger, Report, SlotCount,
};
use thermocline_store::{SlotArrivals, StoreError};
use thermocline_wire::rfc3339;
use thiserror::Error;

use crate::books::work_of;
use crate::control::ControlPlane;
use crate::edit::EditError;

/// Arrivals that are replayed at most: the newest.
const MOST_ARRIVALS: u64 = 1_000_000;

/// Why nothing can be said.
#[derive(Debug, Error)]
pub(crate) enum SimulationError {
    /// The specification cannot be what is asked for.
    #[error("it cannot be so")]
    Edit(#[from] EditError),
    /// It has nothing to choose from.
    #[error("a replay chooses between a serverless and a pod tier; {0} has not both")]
    OneTier(String),
    /// It is not known what a tier costs.
    #[error("the price of {0} is not known yet")]
    Unpriced(Tier),
    /// What is written down cannot be read now.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// A deployment under one specification.
struct Course {
    candidate: Candidate,
    assumptions: Assumptions,
}

impl ControlPlane {
    /// What the arrivals of the last `span` would have cost with `patch` merged into
    /// the specification of `name`, beside what is in force and each tier alone.
    ///
    /// # Errors
    /// See [`SimulationError`].
    pub(crate) async fn simulate(
        self: &Arc<Self>,
        name: &str,
        patch: &Value,
        span: Duration,
    ) -> Result<Value, SimulationError> {
        let asked = self.course(name, &self.patched(name, patch)?)?;
        let now = self
            .deployment(name)
            .ok_or_else(|| self.no_such_deployment(name))?;
        let in_force = self.course(name, &now.with_spec(Spec::clone))?;
        // One at a time: it takes a whole core, even when who asked has left.
        let one = self.simulating.clone().lock_owned().await;
        let mut ledger = self.ledger_of(name, span).await?;
        ledger.keep_newest(MOST_ARRIVALS);
        let replayed = move || {
            let _one = one;
            replay(&ledger, &asked, &in_force)
        };
        let result = self.runtime.spawn_blocking(replayed).await;
        let mut result =
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        result["deployment"] = json!(name);
        Ok(result)
    }

    /// What would be decided by, and is known, under `spec`.
    fn course(&self, name: &str, spec: &Spec) -> Result<Course, SimulationError> {
        let deployment = self
            .deployment(name)
            .ok_or_else(|| self.no_such_deployment(name))?;
        let tiers = spec.tiers.set();
        if !tiers.has(Tier::Serverless) || !tiers.has(Tier::Pod) {
            return Err(SimulationError::OneTier(name.to_owned()));
        }
        let model = CostModel {
            work: work_of(&deployment.live.tally, spec),
            ..deployment.books.model()
        };
        let priced = [
            (Tier::Serverless, model.prices.serverless),
            (Tier::Pod, model.prices.pod),
        ];
        if let Some((tier, _)) = priced.into_iter().find(|(_, price)| price.is_none()) {
            return Err(SimulationError::Unpriced(tier));
        }
        let settings = spec.settings(&self.defaults);
        let assumed = Assumptions::of(model);
        Ok(Course {
            candidate: candidate(&settings),
            assumptions: Assumptions {
                objective: spec.objective.as_ref().map(|objective| objective.p95),
                thresholds: settings.thresholds,
                pod_idle: spec.idle_timeout(Tier::Pod).unwrap_or(assumed.pod_idle),
                ..assumed
            },
        })
    }

    /// What came for `name` within `span` until now.
    async fn ledger_of(&self, name: &str, span: Duration) -> Result<Ledger, StoreError> {
        self.post().await;
        let span = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        let from = self.clock.wall_micros().saturating_sub(span);
        let slot = from.div_euclid(SLOT.as_micros() as i64);
        let counted = self.store.arrivals_of(name, slot).await?;
        Ok(Ledger::new(SLOT, counted.into_iter().map(count).collect()))
    }
}

fn count(counted: SlotArrivals) -> SlotCount {
    SlotCount {
        slot: counted.slot.unsigned_abs(),
        deployment: counted.deployment,
        arrivals: counted.arrivals.unsigned_abs(),
    }
}

/// The policy that settings ask for.
fn candidate(settings: &Settings) -> Candidate {
    match settings.mode {
        PolicyMode::Thresholds => Candidate::Thresholds {
            promote: settings.thresholds.promote_rps,
            demote: settings.thresholds.demote_rps,
        },
        PolicyMode::BreakEven => Candidate::BreakEven(Margins::default()),
        PolicyMode::Regret => Candidate::Regret,
    }
}

fn replay(ledger: &Ledger, asked: &Course, in_force: &Course) -> Value {
    let alone = [Tier::Serverless, Tier::Pod].map(Candidate::Always);
    let now = [in_force.candidate, alone[0], alone[1]];
    let fleet = |candidates: &[Candidate], course: &Course| {
        let assumptions = course.assumptions.clone();
        Fleet::of(candidates, &assumptions, vec![assumptions.clone()])
    };
    let (mut then, mut now) = (fleet(&[asked.candidate], asked), fleet(&now, in_force));
    ledger.replay(std::slice::from_ref(&in_force.assumptions), |arrival| {
        then.arrive(arrival);
        now.arrive(arrival);
    });
    let ((then, _), (now, _)) = (then.finish(&[]), now.finish(&[]));
    let slot = SLOT.as_micros() as i64;
    let begin = ledger.first_slot().map(|first| first as i64 * slot);
    let span = ledger.span().as_micros() as i64;
    json!({
        "from": begin.map(rfc3339),
        "to": begin.map(|begin| rfc3339(begin + span)),
        "arrivals": ledger.arrivals(),
        "asked": then.policies[0],
        "in_force": now.policies[0],
        "serverless": now.policies[1],
        "pod": now.policies[2],
        "optimum_usd": least(&now, &then),
        "assumptions": AssumptionsReport::of(&asked.assumptions),
    })
}

/// The cheaper optimum: what either tried was possible.
fn least(one: &Report, other: &Report) -> Option<f64> {
    let both = [one.optimum.cost_usd, other.optimum.cost_usd];
    both.into_iter().flatten().reduce(f64::min)
}
