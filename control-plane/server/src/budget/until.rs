use thermocline_policy::{Calendar, NanoUsd, OverBudget};
use thermocline_wire::rfc3339;

/// Until when a refusal lasts, or what would end it; the price is asked for again
/// `asked_again`, in microseconds since 1970.
pub(super) fn until(why: &OverBudget, at: Calendar, asked_again: Option<i64>) -> String {
    let price = |what: &str| match asked_again {
        Some(when) => format!(
            "{what}, for which its provider is asked at {}",
            rfc3339(when)
        ),
        None => what.to_owned(),
    };
    match why {
        OverBudget::Day {
            fits_at: Some(when),
            limit,
            needed,
            ..
        } if needed <= limit => format!("{}, or a higher budget", rfc3339(*when)),
        OverBudget::Day { fits_at, .. } => {
            let when = fits_at.map(|when| format!("{}, ", rfc3339(when)));
            let price = price("a lower price");
            format!("{}a higher budget, or {price}", when.unwrap_or_default())
        }
        OverBudget::Hour { .. } => {
            format!("{}, or a higher ceiling", rfc3339(at.next_hour()))
        }
        OverBudget::Rate { pods, .. } if *pods == NanoUsd(0) => {
            format!("a higher ceiling, or {}", price("a lower price"))
        }
        OverBudget::Rate { .. } => {
            let price = price("a lower price");
            format!("the end of a pod, a higher ceiling, or {price}")
        }
        OverBudget::Instances { .. } => "the end of a pod, or a higher limit".to_owned(),
        OverBudget::Unpriced => price("a price"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn told(why: OverBudget) -> String {
        until(&why, Calendar::at(HOUR / 2), Some(HOUR))
    }

    fn day(limit: i64, needed: i64, fits_at: Option<i64>) -> OverBudget {
        OverBudget::Day {
            limit: NanoUsd(limit),
            spent: NanoUsd(1),
            needed: NanoUsd(needed),
            fits_at,
        }
    }

    #[test]
    fn a_refusal_says_when_it_ends_or_what_ends_it() {
        let midnight = "1970-01-02T00:00:00.000Z, or a higher budget";
        assert_eq!(told(day(10, 10, Some(24 * HOUR))), midnight);
        let asked = "for which its provider is asked at 1970-01-01T01:00:00.000Z";
        assert_eq!(
            told(day(10, 11, None)),
            format!("a higher budget, or a lower price, {asked}")
        );
        assert_eq!(
            told(day(10, 11, Some(23 * HOUR))),
            format!("1970-01-01T23:00:00.000Z, a higher budget, or a lower price, {asked}")
        );
        let rate = |pods| OverBudget::Rate {
            limit: NanoUsd(5),
            pods: NanoUsd(pods),
            more: NanoUsd(6),
        };
        assert_eq!(
            told(rate(0)),
            format!("a higher ceiling, or a lower price, {asked}")
        );
        assert_eq!(
            told(rate(1)),
            format!("the end of a pod, a higher ceiling, or a lower price, {asked}")
        );
        assert_eq!(told(OverBudget::Unpriced), format!("a price, {asked}"));
    }
}
