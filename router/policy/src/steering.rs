//! From prices and arrivals to the thresholds in force.

use std::time::Duration;

use crate::{Basis, BreakEven, CostModel, PolicyMode, Rate, Regret, SlotCost, Thresholds, Tier};

/// The slot of mode `regret`: how often it compares.
pub const SLOT: Duration = Duration::from_secs(10);

/// Arrivals below which mode `break_even` promotes nothing.
const LEAST_ARRIVALS: u64 = 10;
/// Mean arrivals at λ* that a window should hold.
const WINDOW_ARRIVALS: f64 = 16.0;
/// The longest that a window is made for that.
const LONGEST_WINDOW: Duration = Duration::from_secs(1800);
/// The least time from a demotion to a promotion in mode `break_even`. Short: a
/// burst that follows a demotion is what a pod pays off soonest for.
const COOL_DOWN_UP: Duration = Duration::from_secs(60);
/// The least time from a promotion to a demotion in mode `break_even`.
const COOL_DOWN_DOWN: Duration = Duration::from_secs(600);
/// The least idle time after which mode `break_even` stops a pod.
const LEAST_IDLE: Duration = Duration::from_secs(300);

/// At which part of the rate serverless must meet the objective before a pod goes.
const EASED: f64 = 0.7;

/// How far from λ* mode `break_even` moves, as multiples of λ*.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margins {
    /// Promote from `up` × λ* on.
    pub up: f64,
    /// Demote below `down` × λ*.
    pub down: f64,
}

impl Default for Margins {
    fn default() -> Self {
        Margins { up: 2.0, down: 0.5 }
    }
}

/// What turns prices and arrivals into thresholds, as the mode says.
#[derive(Debug, Clone)]
pub struct Steering {
    mode: PolicyMode,
    margins: Margins,
    base: Thresholds,
    in_force: Thresholds,
    break_even: BreakEven,
    model: CostModel,
    regret: Regret,
    /// On pods for the objective, whatever they cost.
    held_to_objective: bool,
    /// The first answer about prices is on its way.
    awaits_prices: bool,
}

impl Steering {
    /// A mode that starts from `base`, which holds while nothing is priced.
    pub fn new(mode: PolicyMode, margins: Margins, base: Thresholds) -> Self {
        Steering {
            mode,
            margins,
            base,
            in_force: base,
            break_even: BreakEven::Unpriced(Tier::Serverless),
            model: CostModel::default(),
            regret: Regret::default(),
            held_to_objective: false,
            awaits_prices: false,
        }
    }

    /// Whether the first answer about prices is on its way. A mode that goes by
    /// prices moves neither way meanwhile, since fixed rates might promote what
    /// prices would not, and a hold would keep it there.
    pub fn await_prices(&mut self, awaited: bool) {
        if self.awaits_prices != awaited {
            self.awaits_prices = awaited;
            self.steer();
        }
    }

    /// Whether the first answer about prices is on its way.
    pub fn is_awaiting_prices(&self) -> bool {
        self.awaits_prices
    }

    /// Takes over prices and times as they are known now.
    pub fn learn(&mut self, model: &CostModel) {
        if self.model == *model {
            return;
        }
        self.model = *model;
        self.break_even = model.break_even();
        self.steer();
    }

    /// Holds it to an objective for the 95th percentile at `rate`, where
    /// `service` is that of the service time: a pod serves whenever serverless
    /// would miss it, because a pod has no cold starts. Back to what is cheapest
    /// once serverless would meet it at 0.7 × `rate` too.
    pub fn hold_to(&mut self, objective: Option<Duration>, service: Duration, rate: Rate) {
        let meets =
            |rate: Rate| objective.is_none_or(|most| service + self.model.wait_p95(rate) <= most);
        let before = self.held_to_objective;
        self.held_to_objective = match before {
            true => !meets(rate.times(EASED)),
            false => !meets(rate),
        };
        if before != self.held_to_objective {
            self.steer();
        }
    }

    /// Whether a pod serves for the objective, whatever it costs.
    pub fn is_held_to_objective(&self) -> bool {
        self.held_to_objective
    }

    /// A slot is over that cost `cost`; `on` is the tier in force.
    pub fn end_slot(&mut self, cost: SlotCost, on: Option<Tier>) {
        if self.mode != PolicyMode::Regret {
            return;
        }
        let on = on.unwrap_or(Tier::Serverless);
        self.regret.advance(cost, on, &self.model);
        self.steer();
    }

    /// The pod has stopped for want of work. What serverless cost before has been
    /// answered with that pod: coming back to it takes as much again.
    pub fn pod_idled(&mut self) {
        self.regret = self.regret.anew(Tier::Serverless);
        self.steer();
    }

    /// The thresholds in force.
    pub fn thresholds(&self) -> &Thresholds {
        &self.in_force
    }

    /// The mode.
    pub fn mode(&self) -> PolicyMode {
        self.mode
    }

    /// The prices and times that were learnt last.
    pub fn model(&self) -> &CostModel {
        &self.model
    }

    /// Whether both tiers have a price.
    pub fn is_priced(&self) -> bool {
        !matches!(self.break_even, BreakEven::Unpriced(_))
    }

    /// The regret so far; of mode `regret` alone.
    pub fn regret(&self) -> &Regret {
        &self.regret
    }

    /// The break-even rate of what was learnt.
    pub fn break_even(&self) -> BreakEven {
        self.break_even
    }

    /// How long a pod may stay without work, at most `limit`.
    pub fn pod_idle(&self, limit: Duration) -> Duration {
        let worth = self.model.worth_keeping();
        match (self.mode, self.break_even) {
            (PolicyMode::Thresholds, _) | (_, BreakEven::Unpriced(_)) => limit,
            (PolicyMode::BreakEven, _) => worth.map_or(limit, |w| w.max(LEAST_IDLE).min(limit)),
            (PolicyMode::Regret, _) => worth.map_or(limit, |w| w.min(limit)),
        }
    }

    fn steer(&mut self) {
        if self.held_to_objective {
            self.in_force = self.for_objective();
            return;
        }
        self.in_force = match (self.mode, self.break_even) {
            (PolicyMode::Thresholds, _) => self.base,
            (_, BreakEven::Unpriced(_)) if self.awaits_prices => Thresholds {
                basis: Basis::AwaitedPrices,
                ..self.moving(false, false)
            },
            (_, BreakEven::Unpriced(_)) => self.base,
            (PolicyMode::BreakEven, at) => self.around(at),
            // A pod that never pays is not tried out.
            (PolicyMode::Regret, BreakEven::Never) => self.around(BreakEven::Never),
            (PolicyMode::Regret, _) => self.by_regret(),
        };
    }

    /// A pod from the first request on, whatever it costs, after no hold but the
    /// one that was asked for.
    fn for_objective(&self) -> Thresholds {
        Thresholds {
            basis: Basis::Objective,
            promote_rps: 0.0,
            demote_rps: 0.0,
            least_arrivals: 1,
            ..self.base
        }
    }

    fn around(&self, at: BreakEven) -> Thresholds {
        let (rate, basis) = match at {
            BreakEven::At(rate) => (rate.as_per_second(), Basis::BreakEven),
            BreakEven::Always => (0.0, Basis::Free),
            BreakEven::Never | BreakEven::Unpriced(_) => (f64::INFINITY, Basis::NeverPays),
        };
        let least = match at {
            BreakEven::Always => 1,
            _ => LEAST_ARRIVALS,
        };
        Thresholds {
            basis,
            window: self.window(at),
            promote_rps: rate * self.margins.up,
            demote_rps: rate * self.margins.down,
            least_arrivals: least,
            hold_up: COOL_DOWN_UP,
            hold_down: COOL_DOWN_DOWN,
            ..self.base
        }
    }

    fn window(&self, at: BreakEven) -> Duration {
        let BreakEven::At(rate) = at else {
            return self.base.window;
        };
        let wide = Duration::try_from_secs_f64(WINDOW_ARRIVALS / rate.as_per_second());
        let longest = LONGEST_WINDOW.max(self.base.window);
        wide.unwrap_or(longest).clamp(self.base.window, longest)
    }

    /// Neither way, until the regret is as large as the switch.
    fn by_regret(&self) -> Thresholds {
        Thresholds {
            basis: Basis::Regret,
            ..self.moving(self.regret.moves(), self.regret.on_pod())
        }
    }

    /// `away` to the other tier at any rate, or at none.
    fn moving(&self, away: bool, on_pod: bool) -> Thresholds {
        let (promote_rps, demote_rps) = match (away, on_pod) {
            (true, false) => (0.0, 0.0),
            (true, true) => (f64::INFINITY, f64::INFINITY),
            (false, _) => (f64::INFINITY, 0.0),
        };
        Thresholds {
            promote_rps,
            demote_rps,
            ..self.base
        }
    }
}

#[cfg(test)]
mod tests;
