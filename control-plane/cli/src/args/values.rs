//! What the values on the command line may be.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use reqwest::Url;
use thermocline_policy::{Tier, parse_duration};

pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = some_duration(text)?;
    let is_whole = lifetime.subsec_nanos() == 0 && lifetime <= Duration::from_secs(3600);
    match is_whole {
        true => Ok(lifetime),
        false => Err("must be whole seconds, 1s to 1h".to_owned()),
    }
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| "must be a port, 1 to 65535".to_owned())
}

/// Reads a whole number within `range`.
pub(crate) fn whole(
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        number.ok_or_else(|| format!("must be a whole number from {least} to {most}"))
    }
}

pub(super) fn server(text: &str) -> Result<Url, String> {
    let as_it_should = |_| "must be a URL as http://127.0.0.1:8081".to_owned();
    let url = Url::parse(text).map_err(as_it_should)?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match url.scheme() {
        "http" | "https" if plain => Ok(url),
        "http" | "https" => Err("must be scheme, host and port alone".to_owned()),
        _ => Err("must begin with http:// or https://".to_owned()),
    }
}

/// A DNS label. It becomes a part of a path, so nothing else may pass.
pub(crate) fn deployment_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let inner = !text.starts_with('-') && !text.ends_with('-');
    if (1..=63).contains(&text.len()) && inner && text.chars().all(allowed) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 63 of a-z, 0-9 and -, with no - at an end".to_owned())
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| format!("{error}, as in 30s, 5m or 2h"))
}

pub(crate) fn some_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration.is_zero() {
        Err("must be above zero".to_owned())
    } else {
        Ok(duration)
    }
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok();
    speed
        .filter(|speed| (0.1..=10.0).contains(speed))
        .ok_or_else(|| "must be a number from 0.1 to 10".to_owned())
}

/// Its planes are open to whoever reaches them.
pub(super) fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: Option<SocketAddr> = text.parse().ok();
    address
        .filter(|address| address.ip().is_loopback())
        .ok_or_else(|| "must be a loopback address with a port, as 127.0.0.1:8080".to_owned())
}

pub(super) fn tiers() -> impl TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::as_str))
        .try_map(|name| Tier::from_str(&name).map_err(|()| "no such tier"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_change_the_path_are_refused() {
        for name in [
            "",
            "..",
            ".",
            "a/b",
            "a?b",
            "-a",
            "a-",
            "A",
            &"a".repeat(64),
        ] {
            assert!(deployment_name(name).is_err(), "{name:?}");
        }
        assert!(deployment_name("sdxl-1").is_ok());
    }

    #[test]
    fn the_demo_stays_on_this_machine_and_at_a_speed_that_can_be_followed() {
        assert!(loopback("127.0.0.1:0").is_ok() && loopback("[::1]:80").is_ok());
        assert!(loopback("0.0.0.0:80").is_err() && loopback("localhost:80").is_err());
        assert!(speed("0.1").is_ok() && speed("10").is_ok());
        for text in ["0", "11", "-1", "NaN", "fast"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_is_an_address_and_nothing_more() {
        for url in ["ftp://h", "h:1", "http://user:secret@h", "http://h/?q=1"] {
            assert!(server(url).is_err(), "{url}");
        }
        assert!(server("https://gate.example.com/thermocline").is_ok());
    }
}
