//! Rates and prices, with their units in their types.

use std::fmt;
use std::time::Duration;

/// Requests a second; finite, 0 or more.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Rate(pub(crate) f64);

impl Rate {
    /// No requests.
    pub const ZERO: Rate = Rate(0.0);

    /// So many a second; `None` unless finite and 0 or more.
    pub fn per_second(requests: f64) -> Option<Rate> {
        (requests.is_finite() && requests >= 0.0).then_some(Rate(requests))
    }

    /// Requests a second.
    pub fn as_per_second(self) -> f64 {
        self.0
    }

    /// This rate times `factor`; unchanged unless that is finite and 0 or more.
    #[must_use]
    pub fn times(self, factor: f64) -> Rate {
        Rate::per_second(self.0 * factor).unwrap_or(self)
    }

    /// The mean number that arrive within `span`.
    pub fn within(self, span: Duration) -> f64 {
        self.0 * span.as_secs_f64()
    }
}

/// Dollars a second; finite, 0 or more.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct UsdPerSecond(f64);

impl UsdPerSecond {
    /// Free of charge.
    pub const ZERO: UsdPerSecond = UsdPerSecond(0.0);

    /// So many dollars a second; `None` unless finite and 0 or more.
    pub fn of(usd: f64) -> Option<UsdPerSecond> {
        (usd.is_finite() && usd >= 0.0).then_some(UsdPerSecond(usd))
    }

    /// So many dollars an hour; `None` unless finite and 0 or more.
    pub fn hourly(usd: f64) -> Option<UsdPerSecond> {
        UsdPerSecond::of(usd / 3600.0)
    }

    /// Dollars a second.
    pub fn as_usd(self) -> f64 {
        self.0
    }

    /// Dollars an hour.
    pub fn as_usd_per_hour(self) -> f64 {
        self.0 * 3600.0
    }

    /// Dollars for `span`.
    pub fn over(self, span: Duration) -> f64 {
        self.0 * span.as_secs_f64()
    }
}

impl std::ops::Add for UsdPerSecond {
    type Output = UsdPerSecond;

    fn add(self, other: UsdPerSecond) -> UsdPerSecond {
        UsdPerSecond(self.0 + other.0)
    }
}

impl fmt::Display for UsdPerSecond {
    /// As dollars an hour, which is how machines are priced.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}/h", self.as_usd_per_hour())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_amounts_from_zero_up_are_prices_and_rates() {
        for bad in [f64::NAN, f64::INFINITY, -1e-9] {
            assert_eq!(UsdPerSecond::of(bad), None);
            assert_eq!(UsdPerSecond::hourly(bad), None);
            assert_eq!(Rate::per_second(bad), None);
        }
        assert_eq!(UsdPerSecond::of(0.0), Some(UsdPerSecond::ZERO));
    }

    #[test]
    fn an_hourly_price_is_the_price_of_3600_seconds() {
        let price = UsdPerSecond::hourly(3.6).unwrap();
        assert!((price.as_usd() - 0.001).abs() < 1e-12);
        assert!((price.over(Duration::from_secs(3600)) - 3.6).abs() < 1e-12);
    }
}
