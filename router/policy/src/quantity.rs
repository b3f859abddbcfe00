//! Durations and sizes as people write them: a number with a unit, never a bare one.

use std::time::Duration;

use thiserror::Error;

/// Why a text is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// There is a number, but it does not say of what.
    #[error("needs a unit")]
    NoUnit,
    /// It is below zero.
    #[error("must not be negative")]
    Negative,
    /// It does not fit into the range that can be represented.
    #[error("is too large")]
    TooLarge,
    /// It is not a number with a unit.
    #[error("is not a number with a unit")]
    Malformed,
}

const DURATION_UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
];

const SIZE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Reads `500ms`, `20s`, `1m30s`, `2h`, `1.5s`; `0` needs no unit only as `0s`.
///
/// # Errors
/// [`QuantityError`] for bare numbers, negative values, other units and empty text.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let mut rest = text;
    let mut nanos: u64 = 0;
    let mut largest = u64::MAX;
    if text.is_empty() {
        return Err(QuantityError::Malformed);
    }
    while !rest.is_empty() {
        let (amount, unit, tail) = next_term(rest, &DURATION_UNITS)?;
        if unit >= largest {
            return Err(QuantityError::Malformed); // "1s1m", "1s1s"
        }
        largest = unit;
        nanos = scaled(amount, unit)?
            .checked_add(nanos)
            .ok_or(QuantityError::TooLarge)?;
        rest = tail;
    }
    Ok(Duration::from_nanos(nanos))
}

/// The one canonical text of a duration; [`parse_duration`] reads it back exactly
/// down to whole microseconds.
pub fn format_duration(duration: Duration) -> String {
    let mut micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, nanos) in &DURATION_UNITS[1..] {
        let size = nanos / 1_000;
        if micros >= size {
            text.push_str(&format!("{}{unit}", micros / size));
            micros %= size;
        }
    }
    text
}

/// Reads `512MiB`, `11GiB`, `24GB`, `1.5GiB`, in bytes.
///
/// # Errors
/// [`QuantityError`] for bare numbers, negative values, other units and empty text.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (amount, unit, rest) = next_term(text, &SIZE_UNITS)?;
    if !rest.is_empty() {
        return Err(QuantityError::Malformed);
    }
    scaled(amount, unit)
}

/// The canonical text of a size: the largest binary unit that divides it.
pub fn format_size(bytes: u64) -> String {
    SIZE_UNITS[..4]
        .iter()
        .find(|(_, size)| bytes.is_multiple_of(*size) && bytes > 0)
        .map_or_else(
            || format!("{bytes}B"),
            |(unit, size)| format!("{}{unit}", bytes / size),
        )
}

/// A decimal number as `digits × 10^-scale`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u64,
    scale: u32,
}

fn scaled(amount: Decimal, unit: u64) -> Result<u64, QuantityError> {
    let exact = u128::from(amount.digits) * u128::from(unit) / 10u128.pow(amount.scale);
    u64::try_from(exact).map_err(|_| QuantityError::TooLarge)
}

fn next_term<'t>(
    text: &'t str,
    units: &[(&str, u64)],
) -> Result<(Decimal, u64, &'t str), QuantityError> {
    if text.starts_with('-') {
        return Err(QuantityError::Negative);
    }
    let number_end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, tail) = text.split_at(number_end);
    let amount = decimal(number)?;
    if tail.is_empty() {
        return Err(QuantityError::NoUnit);
    }
    let unit_end = tail
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(tail.len());
    let (unit, rest) = tail.split_at(unit_end);
    units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, size)| (amount, *size, rest))
        .ok_or(QuantityError::Malformed)
}

fn decimal(number: &str) -> Result<Decimal, QuantityError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 9 {
        return Err(QuantityError::Malformed);
    }
    let digits = format!("{whole}{fraction}").parse().map_err(|_| {
        if whole.len() > 19 {
            QuantityError::TooLarge
        } else {
            QuantityError::Malformed
        }
    })?;
    Ok(Decimal {
        digits,
        scale: fraction.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn b34_durations_need_a_unit() {
        let ok = [
            ("20s", 20_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("2h", 7_200_000),
            ("0s", 0),
            ("1.5s", 1_500),
        ];
        for (text, millis) in ok {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        assert_eq!(parse_duration("20"), Err(QuantityError::NoUnit));
        assert_eq!(parse_duration("0"), Err(QuantityError::NoUnit));
        assert_eq!(parse_duration("-5s"), Err(QuantityError::Negative));
        for text in [
            "1e3", "", "s", "1s1m", "1s1s", "1.s", " 1s", "1 s", "1S", "٣s",
        ] {
            assert_eq!(
                parse_duration(text),
                Err(QuantityError::Malformed),
                "{text:?}"
            );
        }
        assert_eq!(
            parse_duration("99999999999999h"),
            Err(QuantityError::TooLarge)
        );
    }

    #[test]
    fn durations_have_one_canonical_text() {
        assert_eq!(format_duration(Duration::from_secs(90)), "1m30s");
        assert_eq!(format_duration(Duration::from_millis(1_500)), "1s500ms");
        assert_eq!(format_duration(Duration::ZERO), "0s");
        assert_eq!(format_duration(Duration::from_secs(7200)), "2h");
    }

    #[test]
    fn sizes_know_binary_and_decimal_units() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("24GB"), Ok(24_000_000_000));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size("11"), Err(QuantityError::NoUnit));
        assert_eq!(parse_size("1GiB2MiB"), Err(QuantityError::Malformed));
        assert_eq!(format_size(11 << 30), "11GiB");
        assert_eq!(format_size(24_000_000_000), "23437500KiB");
    }

    proptest! {
        #[test]
        fn formatted_durations_read_back(micros in 0u64..10_000_000_000_000) {
            let duration = Duration::from_micros(micros);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn formatted_sizes_read_back(bytes in any::<u64>()) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = parse_duration(&text);
            let _ = parse_size(&text);
        }
    }
}
