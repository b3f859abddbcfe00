use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};

use crate::Address;

/// Headers that say how a message is framed or where it goes, which is the router's matter.
const RESERVED: [HeaderName; 7] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Holds what a provider gave as an instance's address to what can be sent to.
///
/// # Errors
/// In words without the address: a URL with more than a scheme, a host that may be
/// reached and a port; a header that cannot be sent, or is not the provider's to set.
pub fn check_address(address: &Address) -> Result<(), String> {
    thermocline_wire::base_url(&address.url).map_err(|allowed| format!("its URL: {allowed}"))?;
    for (name, value) in &address.headers {
        let known = HeaderName::from_bytes(name.as_bytes());
        let Ok(known) = known else {
            return Err("the name of one of its headers cannot be sent".to_owned());
        };
        if RESERVED.contains(&known) {
            return Err(format!("its header {known} is not the provider's to set"));
        }
        if HeaderValue::from_str(value).is_err() {
            return Err(format!("the value of its header {known} cannot be sent"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        check_address(&Address {
            url: url.to_owned(),
            headers: headers.collect(),
            ..Address::default()
        })
    }

    #[test]
    fn an_address_is_a_host_that_may_be_reached_and_perhaps_a_port() {
        for url in [
            "http://10.0.0.7:8000",
            "https://pod-1.acme.example",
            "http://[::1]:80/",
        ] {
            assert_eq!(check(url, &[("x-acme-key", "k")]), Ok(()), "{url}");
        }
        for url in [
            "",
            "ftp://x",
            "http://x/base/path",
            "http://x?q=1",
            "http://user:word@x",
            "http://169.254.169.254",
            "http://[::ffff:169.254.169.254]",
            "http://metadata.google.internal",
        ] {
            let why = check(url, &[]).unwrap_err();
            assert!(why.starts_with("its URL: "), "{why}");
        }
    }

    #[test]
    fn a_provider_neither_frames_messages_nor_says_where_they_go() {
        for name in ["host", "Content-Length", "transfer-encoding", "connection"] {
            let why = check("http://x", &[(name, "5")]).unwrap_err();
            assert!(why.contains(&name.to_lowercase()), "{why}");
        }
        let why = check("http://x", &[("x-key", "bad\r\ninjected: 1")]).unwrap_err();
        assert_eq!(why, "the value of its header x-key cannot be sent");
        assert!(check("http://x", &[("x key", "v")]).is_err());
    }
}
