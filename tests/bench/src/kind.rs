//! What a request of the load asks for.

use std::fmt;
use std::str::FromStr;

/// Events of one stream.
pub(crate) const EVENTS: u64 = 100;
/// Time between the events of a paced stream, microseconds.
pub(crate) const PACE_MICROS: u64 = 5_000;

/// One sort of request; written `post-200`, `upload-4m`, `download-1g`, `sse-burst`, `sse-paced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A POST of so many bytes, sent in one write with its head.
    Post(u64),
    /// A POST of so many bytes, streamed.
    Upload(u64),
    /// A GET answered with so many bytes.
    Download(u64),
    /// 100 events, each written at once and by itself.
    Burst,
    /// 100 events, 5 ms apart.
    Paced,
}

impl Kind {
    /// How many events one answer carries.
    pub(crate) fn events(self) -> u64 {
        match self {
            Kind::Burst | Kind::Paced => EVENTS,
            Kind::Post(_) | Kind::Upload(_) | Kind::Download(_) => 0,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Post(bytes) => write!(f, "post-{}", Size(bytes)),
            Kind::Upload(bytes) => write!(f, "upload-{}", Size(bytes)),
            Kind::Download(bytes) => write!(f, "download-{}", Size(bytes)),
            Kind::Burst => f.write_str("sse-burst"),
            Kind::Paced => f.write_str("sse-paced"),
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown =
            || format!("{text} is none of post-N, upload-N, download-N, sse-burst, sse-paced");
        let (name, rest) = text.split_once('-').ok_or_else(unknown)?;
        match (name, rest) {
            ("sse", "burst") => return Ok(Kind::Burst),
            ("sse", "paced") => return Ok(Kind::Paced),
            _ => {}
        }
        let bytes = rest.parse::<Size>()?.0;
        match name {
            "post" => Ok(Kind::Post(bytes)),
            "upload" => Ok(Kind::Upload(bytes)),
            "download" => Ok(Kind::Download(bytes)),
            _ => Err(unknown()),
        }
    }
}

/// A number of bytes, written with `k`, `m` or `g` (powers of 1024) where it is whole.
struct Size(u64);

const UNITS: [(char, u32); 3] = [('g', 30), ('m', 20), ('k', 10)];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, power): &&(char, u32)| self.0 > 0 && self.0.trailing_zeros() >= *power;
        match UNITS.iter().find(whole) {
            Some((unit, power)) => write!(f, "{}{unit}", self.0 >> power),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
        let (digits, power) = unit.map_or((text, 0), |(unit, power)| {
            (text.trim_end_matches(*unit), *power)
        });
        let number: u64 = digits.parse().map_err(|_| format!("{text} is no size"))?;
        let bytes = number
            .checked_mul(1 << power)
            .ok_or_else(|| format!("{text} is too large"))?;
        Ok(Size(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_parse_to() {
        for name in [
            "post-200",
            "upload-1m",
            "upload-4m",
            "download-10g",
            "upload-65k",
            "sse-burst",
            "sse-paced",
        ] {
            assert_eq!(name.parse::<Kind>().unwrap().to_string(), name);
        }
        assert_eq!("upload-1m".parse::<Kind>(), Ok(Kind::Upload(1 << 20)));
    }

    #[test]
    fn others_are_refused() {
        for name in [
            "post",
            "post-",
            "post-m",
            "sse-slow",
            "get-1",
            "upload-99999999999g",
        ] {
            assert!(name.parse::<Kind>().is_err(), "{name} was taken");
        }
    }
}
