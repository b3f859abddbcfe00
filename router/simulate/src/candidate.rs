use std::fmt;
use std::str::FromStr;

use thermocline_policy::{Margins, PolicyMode, Thresholds, Tier, TierSet};
use thiserror::Error;

/// A policy that is tried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Candidate {
    /// Two fixed rates, requests a second.
    Thresholds {
        /// From which on a pod serves.
        promote: f64,
        /// Below which it stops serving.
        demote: f64,
    },
    /// Rates around λ*.
    BreakEven(Margins),
    /// The work-function rule.
    Regret,
    /// One tier, whatever comes.
    Always(Tier),
}

/// Why a text names no policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CandidateError {
    /// There is no such policy.
    #[error(
        "{0} is no policy; allowed: thresholds:promote=0.2,demote=0.05, break_even, break_even:up=2,down=0.5, regret, always:serverless, always:pod"
    )]
    Unknown(String),
    /// It has no such number.
    #[error("{policy} has no number {key}; allowed: {allowed}")]
    UnknownKey {
        /// The policy.
        policy: &'static str,
        /// What was given.
        key: String,
        /// What could have been.
        allowed: &'static str,
    },
    /// What should be a number is none.
    #[error("{0} must be followed by = and a finite number of 0 or more")]
    NotANumber(String),
    /// There is no room between the two.
    #[error("{low} must be below {high}, and {high} above 0")]
    NoRoom {
        /// The lower one.
        low: &'static str,
        /// The upper one.
        high: &'static str,
    },
}

impl Candidate {
    /// One of each kind.
    pub const ALL: [Candidate; 5] = [
        Candidate::Always(Tier::Serverless),
        Candidate::Always(Tier::Pod),
        Candidate::Thresholds {
            promote: 0.2,
            demote: 0.05,
        },
        Candidate::BreakEven(Margins { up: 2.0, down: 0.5 }),
        Candidate::Regret,
    ];

    /// What it needs and `tiers` lacks. All need serverless, which serves while a
    /// pod boots and what it has no place for.
    pub(crate) fn lacks(&self, tiers: TierSet) -> Option<Tier> {
        let needs: &[Tier] = match self {
            Candidate::Always(Tier::Pod) => &[Tier::Serverless, Tier::Pod],
            _ => &[Tier::Serverless],
        };
        needs.iter().copied().find(|tier| !tiers.has(*tier))
    }

    /// The mode that it runs under.
    pub(crate) fn mode(&self) -> PolicyMode {
        match self {
            Candidate::BreakEven(_) => PolicyMode::BreakEven,
            Candidate::Regret => PolicyMode::Regret,
            Candidate::Thresholds { .. } | Candidate::Always(_) => PolicyMode::Thresholds,
        }
    }
}

impl FromStr for Candidate {
    type Err = CandidateError;

    fn from_str(text: &str) -> Result<Self, CandidateError> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        match (name, numbers) {
            ("always", "serverless") => Ok(Candidate::Always(Tier::Serverless)),
            ("always", "pod") => Ok(Candidate::Always(Tier::Pod)),
            ("regret", "") => Ok(Candidate::Regret),
            ("thresholds", _) => {
                let by_default = Thresholds::default();
                let before = [by_default.promote_rps, by_default.demote_rps];
                let [promote, demote] = pair("thresholds", numbers, ["promote", "demote"], before)?;
                Ok(Candidate::Thresholds { promote, demote })
            }
            ("break_even", _) => {
                let Margins { up, down } = Margins::default();
                let [up, down] = pair("break_even", numbers, ["up", "down"], [up, down])?;
                Ok(Candidate::BreakEven(Margins { up, down }))
            }
            _ => Err(CandidateError::Unknown(text.to_owned())),
        }
    }
}

/// Two numbers by their `keys`, the higher first, with room between them.
fn pair(
    policy: &'static str,
    text: &str,
    keys: [&'static str; 2],
    mut values: [f64; 2],
) -> Result<[f64; 2], CandidateError> {
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (key, value) = term.split_once('=').unwrap_or((term, ""));
        let place = keys.iter().position(|known| *known == key);
        let place = place.ok_or_else(|| CandidateError::UnknownKey {
            policy,
            key: key.to_owned(),
            allowed: if policy == "thresholds" {
                "promote, demote"
            } else {
                "up, down"
            },
        })?;
        let number: Option<f64> = value.parse().ok();
        values[place] = number
            .filter(|n| n.is_finite() && *n >= 0.0)
            .ok_or_else(|| CandidateError::NotANumber(key.to_owned()))?;
    }
    match values[0] > values[1] {
        true => Ok(values),
        false => Err(CandidateError::NoRoom {
            low: keys[1],
            high: keys[0],
        }),
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Candidate::Thresholds { promote, demote } => {
                write!(f, "thresholds:promote={promote},demote={demote}")
            }
            Candidate::BreakEven(margins) if *margins == Margins::default() => {
                f.write_str("break_even")
            }
            Candidate::BreakEven(Margins { up, down }) => {
                write!(f, "break_even:up={up},down={down}")
            }
            Candidate::Regret => f.write_str("regret"),
            Candidate::Always(tier) => write!(f, "always:{tier}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "thresholds:promote=0.5,demote=0.1",
            "break_even",
            "break_even:up=1,down=0.5",
            "regret",
            "always:serverless",
            "always:pod",
        ] {
            let candidate: Candidate = text.parse().unwrap();
            assert_eq!(candidate.to_string(), text);
        }
        let by_default: Candidate = "thresholds".parse().unwrap();
        assert_eq!(by_default.to_string(), "thresholds:promote=0.2,demote=0.05");
    }

    #[test]
    fn a_mistake_is_named_with_what_is_allowed() {
        for (text, part) in [
            ("greedy", "allowed: thresholds"),
            ("always:local", "allowed: thresholds"),
            ("regret:x=1", "allowed: thresholds"),
            ("thresholds:up=1", "allowed: promote, demote"),
            ("break_even:promote=1", "allowed: up, down"),
            ("thresholds:promote=NaN", "promote must be followed"),
            ("thresholds:promote=-1", "promote must be followed"),
            ("thresholds:promote", "promote must be followed"),
            (
                "thresholds:promote=1,demote=1",
                "demote must be below promote",
            ),
        ] {
            let error = text.parse::<Candidate>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
