//! Timestamps as people read them.

use chrono::{DateTime, SecondsFormat};

/// An RFC 3339 time as microseconds since 1970, UTC; `None` when it is none.
pub fn micros(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.timestamp_micros())
}

/// Microseconds since 1970 as RFC 3339 in UTC; the epoch when out of range.
pub fn rfc3339(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}
