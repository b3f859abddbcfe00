use std::time::Duration;

use super::{PolicyMode, Spec};
use crate::UsdPerSecond;
use crate::decision::Thresholds;

/// What a spec that says nothing gets; the server's configuration sets them.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// Window and thresholds.
    pub thresholds: Thresholds,
    /// How tiers are chosen.
    pub mode: PolicyMode,
    /// What a second of a user's waiting is worth.
    pub value_of_wait: UsdPerSecond,
    /// How long a request is held while cold.
    pub max_wait: Duration,
    /// How many are held while cold.
    pub max_pending: u32,
    /// From arrival to the last byte.
    pub deadline: Duration,
    /// From sending to the response's head.
    pub first_byte: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// Bytes of a request's body; 0 = no limit.
    pub max_body: u64,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults {
            thresholds: Thresholds::default(),
            mode: PolicyMode::default(),
            value_of_wait: UsdPerSecond::ZERO,
            max_wait: Duration::from_secs(120),
            max_pending: 200,
            deadline: Duration::from_secs(600),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            max_body: 0,
        }
    }
}

/// A spec's numbers with the defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Window, thresholds and hold.
    pub thresholds: Thresholds,
    /// How tiers are chosen.
    pub mode: PolicyMode,
    /// What a second of a user's waiting is worth.
    pub value_of_wait: UsdPerSecond,
    /// How long a request is held while cold.
    pub max_wait: Duration,
    /// How many are held while cold.
    pub max_pending: u32,
    /// From arrival to the last byte.
    pub deadline: Duration,
    /// From sending to the response's head.
    pub first_byte: Duration,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// Bytes of a request's body; `None` = no limit.
    pub max_body: Option<u64>,
}

impl Spec {
    /// The numbers that hold for it on a server with `defaults`.
    pub fn settings(&self, defaults: &Defaults) -> Settings {
        let policy = &self.policy;
        let by_default = &defaults.thresholds;
        let max_body = self.limits.max_body.unwrap_or(defaults.max_body);
        Settings {
            thresholds: Thresholds {
                window: policy.window.unwrap_or(by_default.window),
                promote_rps: policy.promote_rps.unwrap_or(by_default.promote_rps),
                demote_rps: policy.demote_rps.unwrap_or(by_default.demote_rps),
                hold: policy.hold.unwrap_or(by_default.hold),
                ..*by_default
            },
            mode: policy.mode.unwrap_or(defaults.mode),
            value_of_wait: defaults.value_of_wait,
            max_wait: self.cold_start.max_wait.unwrap_or(defaults.max_wait),
            max_pending: self.cold_start.max_pending.unwrap_or(defaults.max_pending),
            deadline: self.limits.deadline.unwrap_or(defaults.deadline),
            first_byte: self.limits.first_byte.unwrap_or(defaults.first_byte),
            idle: self.limits.idle.unwrap_or(defaults.idle),
            max_body: (max_body > 0).then_some(max_body),
        }
    }
}
