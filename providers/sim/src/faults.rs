use serde::{Deserialize, Serialize};

/// What is to go wrong, for tests: the body of `PUT /v1/faults`, which replaces
/// what was asked for before. An empty object heals everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Creates of new instances are refused with `no_capacity`.
    pub no_capacity: bool,
    /// So many creates are answered with 500, before anything was made.
    pub fail_create: u32,
    /// Every call about offers and instances waits so long, milliseconds, before it is obeyed.
    pub delay_ms: u64,
    /// So many creates are obeyed, and their reply is cut off.
    pub drop_reply_after_create: u32,
    /// Lists leave out every other instance and say that they are not complete.
    pub list_incomplete: bool,
    /// This instance ceases to exist now, without a trace.
    pub vanish: Option<String>,
}

impl Faults {
    /// Whether this create is to fail; uses up one failure.
    pub(crate) fn take_failed_create(&mut self) -> bool {
        take_one(&mut self.fail_create)
    }

    /// Whether this create's reply is to be cut off; uses up one.
    pub(crate) fn take_dropped_reply(&mut self) -> bool {
        take_one(&mut self.drop_reply_after_create)
    }
}

fn take_one(left: &mut u32) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}
