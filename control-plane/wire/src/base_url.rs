use std::net::IpAddr;

use thermocline_policy::outbound::is_never_reached;
use url::{Host, Url};

/// `text` as an address that requests can be sent to, without a slash at its end.
///
/// # Errors
/// What is allowed, unless it is `http://` or `https://` with a host that may be
/// reached, and perhaps a port.
pub fn base_url(text: &str) -> Result<String, &'static str> {
    const ALLOWED: &str =
        "must be http:// or https:// with a host and perhaps a port, nothing else";
    let url = Url::parse(text).map_err(|_| ALLOWED)?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    let host = url.host().filter(|_| plain).ok_or(ALLOWED)?;
    let never = match host {
        Host::Domain(name) => name == "metadata.google.internal",
        Host::Ipv4(ip) => is_never_reached(IpAddr::V4(ip)),
        Host::Ipv6(ip) => is_never_reached(IpAddr::V6(ip)),
    };
    match never {
        true => Err("link-local and metadata addresses are never reached"),
        false => Ok(url.as_str().trim_end_matches('/').to_owned()),
    }
}
