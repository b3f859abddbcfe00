//! How long a request may take: one absolute deadline, made at arrival.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use thermocline_policy::{Moment, Settings, parse_duration};

use crate::names;
use crate::refusal::{Refusal, refuse};

/// Until when a request may wait for a start, and until when it may take at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) cold: Moment,
    pub(crate) whole: Moment,
}

/// Reads what the client says; the deployment's settings fill in, and bound it.
pub(crate) fn patience(
    headers: &HeaderMap,
    settings: &Settings,
    arrived: Moment,
) -> Result<Patience, Refusal> {
    let whole = duration(headers, &names::TIMEOUT)?;
    let whole = whole.map_or(settings.deadline, |asked| asked.min(settings.deadline));
    let cold = match duration(headers, &names::SCALE_UP_TIMEOUT)? {
        Some(asked) => asked,
        None => preferred_wait(headers).unwrap_or(settings.max_wait),
    };
    Ok(Patience::new(cold, whole, arrived))
}

impl Patience {
    /// The deployment's, for a client that says nothing.
    pub(crate) fn of(settings: &Settings, arrived: Moment) -> Self {
        Self::new(settings.max_wait, settings.deadline, arrived)
    }

    fn new(cold: Duration, whole: Duration, arrived: Moment) -> Self {
        Patience {
            cold: arrived + cold.min(whole),
            whole: arrived + whole,
        }
    }
}

/// A duration with a unit; a bare number counts as seconds, as the services
/// that made these headers up do.
fn duration(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Duration>, Refusal> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    let parsed = match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => parse_duration(text),
    };
    parsed.map(Some).map_err(|e| {
        refuse(
            400,
            "bad_header",
            format!("{name} {e}; allowed: 500ms, 20s, 1m30s"),
        )
    })
}

/// `Prefer: wait=60` (RFC 7240 §4.3).
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    headers
        .get_all(&names::PREFER)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|preference| preference.trim().strip_prefix("wait=")?.parse().ok())
        .map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use thermocline_policy::{Defaults, Spec};

    use super::*;

    fn read(name: &'static str, value: &str) -> Result<Patience, Refusal> {
        let settings = Spec::named("m").settings(&Defaults::default());
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        patience(&headers, &settings, Moment::ORIGIN)
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn the_client_may_shorten_the_whole_and_set_the_cold_part() {
        assert_eq!(
            read("x-other", "1").unwrap(),
            Patience {
                cold: at(120),
                whole: at(600)
            }
        );
        assert_eq!(
            read("x-thermocline-timeout", "30s").unwrap(),
            Patience {
                cold: at(30),
                whole: at(30)
            }
        );
        assert_eq!(read("x-scale-up-timeout", "60s").unwrap().cold, at(60));
        assert_eq!(read("x-scale-up-timeout", "300").unwrap().cold, at(300));
        assert_eq!(
            read("prefer", "respond-async, wait=60").unwrap().cold,
            at(60)
        );
    }

    #[test]
    fn nonsense_is_a_clear_error() {
        let refusal = read("x-thermocline-timeout", "soon").unwrap_err();
        assert_eq!(refusal.status.as_u16(), 400);
        assert!(refusal.detail.contains("x-thermocline-timeout"));
    }
}
