use serde::{Deserialize, Serialize};

/// What is to go wrong: the body of `PUT /fake/faults`, which replaces what was
/// asked for before. An empty object heals everything. Counts are used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// F1: so many calls are answered with 429.
    pub rate_limited: u32,
    /// F1: the `Retry-After` of these, seconds; none when absent.
    pub retry_after: Option<u64>,
    /// F2: so many writes are answered with 500 and not obeyed.
    pub fail_before: u32,
    /// F3: so many writes are obeyed and answered with 500.
    pub fail_after: u32,
    /// F4: so many writes are obeyed and their reply is cut off.
    pub cut_after: u32,
    /// F5: what is younger than this, seconds, is not listed.
    pub list_lag_s: f64,
    /// F6: GET of what is younger than this, seconds, is a 404.
    pub get_lag_s: f64,
    /// F7: DELETE of what is younger than this, seconds, is a 404.
    pub delete_lag_s: f64,
    /// F8: so many deletes are answered with 204 and not obeyed.
    pub ignored_deletes: u32,
    /// F9: no new pod leaves `STARTING`, no worker ever comes up.
    pub never_ready: bool,
    /// F10: GPU ids, clouds or data centres without stock; `*` is everything.
    pub no_stock: Vec<String>,
    /// F11: what is wrong with every list.
    pub list: Option<ListFault>,
    /// F14: the states that pods report, one after the other.
    pub states: Vec<String>,
    /// F15: what is wrong with every body of a read.
    pub body: Option<BodyFault>,
    /// F16: the key is no longer accepted.
    pub revoked: bool,
    /// F16: the balance is spent: creates are answered with 402.
    pub broke: bool,
    /// F17: what is created takes the place, id and address of what was deleted last.
    pub reused_places: bool,
    /// F18: the service's wall clock is ahead by so much, seconds.
    pub skew_s: i64,
    /// Starting a stopped pod is refused: its machine was rented to others.
    pub start_refused: bool,
    /// Workers of endpoints wait for hardware.
    pub throttled: bool,
    /// Workers of endpoints crash as they start.
    pub unhealthy: bool,
}

/// What can be wrong with a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListFault {
    /// Half of it is missing.
    Truncated,
    /// The next page is the same page.
    Circular,
    /// It is empty.
    Empty,
    /// It is a 500.
    Error,
}

/// What can be wrong with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyFault {
    /// It ends in the middle.
    Malformed,
    /// It is larger than any honest one.
    Huge,
    /// It never ends.
    Slow,
    /// It is of another type.
    WrongType,
    /// It is a page for people, with 502.
    Html,
    /// There is none.
    Empty,
}

impl Faults {
    /// Whether one of these has no stock.
    pub(crate) fn out_of(&self, words: &[&str]) -> bool {
        self.no_stock
            .iter()
            .any(|it| it == "*" || words.contains(&it.as_str()))
    }
}

/// Uses up one of `left`; whether there was any.
pub(crate) fn take(left: &mut u32) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}
