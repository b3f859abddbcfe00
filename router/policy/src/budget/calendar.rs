use std::time::Duration;

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// A time of day in UTC, and the hours and days that budgets are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calendar(i64);

impl Calendar {
    /// At so many microseconds since 1970, UTC.
    pub const fn at(wall_micros: i64) -> Self {
        Calendar(wall_micros)
    }

    /// Hours since 1970.
    pub const fn hour(self) -> i64 {
        self.0.div_euclid(HOUR)
    }

    /// The hour with which the day began, since 1970.
    pub const fn first_hour_of_day(self) -> i64 {
        self.0.div_euclid(DAY) * 24
    }

    /// When the next hour begins; microseconds since 1970.
    pub const fn next_hour(self) -> i64 {
        (self.hour() + 1) * HOUR
    }

    /// When the next day begins; microseconds since 1970.
    pub const fn next_day(self) -> i64 {
        (self.0.div_euclid(DAY) + 1) * DAY
    }

    /// Until the next hour; above zero.
    pub const fn rest_of_hour(self) -> Duration {
        Duration::from_micros((HOUR - self.0.rem_euclid(HOUR)) as u64)
    }

    /// Until midnight; above zero.
    pub const fn rest_of_day(self) -> Duration {
        Duration::from_micros((DAY - self.0.rem_euclid(DAY)) as u64)
    }
}
