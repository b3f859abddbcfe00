//! What Thermocline decides, as nouns and pure functions.
//!
//! Nothing here waits, reads a clock, logs or touches the network: every
//! function takes the moment and the facts it needs and returns an answer.
//! [`decide`] answers one request, [`scale`] says how much capacity each tier
//! should have, [`plan`] turns the difference between wanted and existing
//! instances into [`Action`]s so specific that whoever applies them has nothing
//! left to choose.

mod budget;
mod cost;
mod decision;
mod error;
pub mod fleet;
mod hindsight;
mod instance;
mod meter;
mod money;
mod optimum;
pub mod outbound;
mod plan;
mod quantity;
mod rate;
mod regret;
pub mod room;
mod scale;
mod shadow;
mod spec;
mod steering;
mod tier;
mod time;
mod window;

pub use budget::{Brake, Calendar, Ceilings, Commitment, LAST_WORK, OverBudget, Spending};
pub use cost::{BreakEven, CostModel, Mean, Prices, Work};
pub use decision::{
    Basis, Decision, LocalFit, PodState, Reason, Thresholds, Transition, View, decide, instead,
    transition,
};
pub use error::{FieldError, FieldErrors};
pub use hindsight::{Hindsight, SoFar};
pub use instance::{InstanceEvent, InstanceState, StateError};
pub use meter::{Count, Places, ServerlessMeter, Taken};
pub use money::NanoUsd;
pub use optimum::Optimum;
pub use plan::{Action, Observed, Wanted, plan};
pub use quantity::{QuantityError, format_duration, format_size, parse_duration, parse_size};
pub use rate::{Rate, UsdPerSecond};
pub use regret::Regret;
pub use scale::{Desired, Fewer, Target, TierLoad, scale};
pub use shadow::{Shadow, SlotCost};
pub use spec::{
    Activity, Budget, COLD_HEADER, ColdStart, Concurrency, DedicatedTier, Defaults, EnvValue,
    FLEET, FleetOptions, Forced, HEAD_BY_HEADER, Health, HostHeader, Limits, Live, Load, LocalTier,
    Objective, PodTier, PolicyMode, PolicySpec, Protocol, REMAINING_HEADER, Ready, Resources,
    Routes, Selection, ServerlessTier, Settings, Shape, Spec, Strategy, Tiers, VOUCHER_HEADER,
    WHOLE_BY_HEADER, is_dns_label,
};
pub use steering::{Margins, SLOT, Steering};
pub use tier::{Tier, TierMap, TierSet};
pub use time::Moment;
pub use window::{Observation, Window};
