use serde::{Deserialize, Serialize};

/// What is to go wrong: the body of `PUT /fake/faults`, which replaces what was
/// asked for before. An empty object heals everything. Counts are used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// F1: so many calls are answered with 429.
    pub rate_limited: u32,
    /// F1: the `Retry-After` of these, seconds; the service sends none.
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
    /// F8: so many deletes are answered with success and not obeyed.
    pub ignored_deletes: u32,
    /// F9: no new instance leaves `loading`.
    pub never_ready: bool,
    /// F10: GPU names that nobody rents out; `*` is everything.
    pub no_stock: Vec<String>,
    /// F10: so many offers were taken by somebody else since they were shown.
    pub taken_offers: u32,
    /// F10: the GPU names of offers that are taken as soon as they are asked for.
    pub taken_gpus: Vec<String>,
    /// So many creates answer with an error and make a stopped instance all the same.
    pub underbid: u32,
    /// F11: what is wrong with every list.
    pub list: Option<ListFault>,
    /// F14: the states that instances report, one after the other.
    pub states: Vec<String>,
    /// F15: what is wrong with every body of a read.
    pub body: Option<BodyFault>,
    /// F16: the key is no longer accepted.
    pub revoked: bool,
    /// F16: the credit is spent: creates are refused.
    pub broke: bool,
    /// F17: what is created takes the id and the port of what was destroyed last.
    pub reused_places: bool,
    /// F18: the service's wall clock is ahead by so much, seconds.
    pub skew_s: i64,
}

/// What can be wrong with a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListFault {
    /// Half of it is missing.
    Truncated,
    /// The next page is the same page.
    Circular,
    /// It is empty, and says that there is nothing.
    Empty,
    /// It is a 500.
    Error,
    /// It leaves out the environment.
    Bare,
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

/// Uses up one of `left`; whether there was any.
pub(crate) fn take(left: &mut u32) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

/// Whether `words` has `word`, or everything.
pub(crate) fn names(words: &[String], word: &str) -> bool {
    words.iter().any(|it| it == "*" || it == word)
}
