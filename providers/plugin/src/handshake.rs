use std::net::IpAddr;

use url::{Host, Url};

/// What the line begins with: a word, and the protocol's version.
const GREETING: &str = "THERMOCLINE-PLUGIN 1 ";

/// The URL that a started plugin announces with its first line.
///
/// # Errors
/// What is wrong with the line; it is not repeated.
pub(crate) fn announced(line: &str) -> Result<String, &'static str> {
    let url = line
        .trim_end()
        .strip_prefix(GREETING)
        .ok_or("its first line is not THERMOCLINE-PLUGIN 1 URL")?;
    let parsed = Url::parse(url).map_err(|_| "it announced no URL")?;
    let here = match parsed.host() {
        Some(Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::from(ip).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match parsed.scheme() == "http" && here && parsed.port().is_some() {
        true => Ok(url.to_owned()),
        false => Err("it must listen on loopback: http://127.0.0.1:PORT"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_plugin_listens_on_loopback_and_says_where() {
        let line = "THERMOCLINE-PLUGIN 1 http://127.0.0.1:9000\n";
        assert_eq!(announced(line).unwrap(), "http://127.0.0.1:9000");
        for line in [
            "",
            "hello",
            "THERMOCLINE-PLUGIN 2 http://127.0.0.1:9000",
            "THERMOCLINE-PLUGIN 1 nowhere",
            "THERMOCLINE-PLUGIN 1 http://192.0.2.1:9000",
            "THERMOCLINE-PLUGIN 1 https://127.0.0.1:9000",
            "THERMOCLINE-PLUGIN 1 http://127.0.0.1",
        ] {
            assert!(announced(line).is_err(), "{line}");
        }
    }
}
