//! Replays arrivals through the policy on a virtual clock, and says what each
//! policy would have cost.
//!
//! Window, decision, scale and plan are those of the live system, not copies:
//! [`Run`] stands where the gateway and the control plane stand, and does what
//! they would. Arrivals come from a [`Trace`] or a [`Generator`]; a [`Fleet`]
//! takes them through every policy and the optimum at once.

mod assumptions;
mod candidate;
mod chance;
mod fleet;
mod generate;
mod ledger;
mod plot;
mod pods;
mod report;
mod run;
mod tally;
mod trace;

pub use assumptions::Assumptions;
pub use candidate::{Candidate, CandidateError};
pub use chance::Chance;
pub use fleet::Fleet;
pub use generate::{Generator, GeneratorError, Shape};
pub use ledger::{Ledger, SlotCount};
pub use plot::{Chart, Course, RateCurve, svg};
pub use report::{
    AssumptionsReport, DeploymentReport, OptimumReport, PolicyReport, Report, TraceReport, Waits,
};
pub use run::{Run, Switch};
pub use trace::{Arrival, Row, Trace, TraceError};
