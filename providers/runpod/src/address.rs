//! Where instances are reached, as it is written down and as it is used.

use std::collections::BTreeMap;

use thermocline_provider::cloud::SECRET_HEADER;
use thermocline_provider::{Address, ProviderError};
use url::Url;

use crate::error::invalid;

/// Stands for the account's key in an address that is written down.
const KEY: &str = "{key}";
/// The header by which a queue endpoint is named to the translator.
pub(crate) const ENDPOINT: &str = "x-thermocline-runpod-endpoint";
/// The header that holds the translator's token.
pub(crate) const TOKEN: &str = "x-thermocline-runpod-token";

/// The address of a pod's proxy, which is public: an image that wants to know
/// its callers checks the secret.
pub(crate) fn of_pod(
    template: &str,
    id: &str,
    port: u16,
    secret: &str,
) -> Result<Address, ProviderError> {
    let url = template
        .replace("{id}", id)
        .replace("{port}", &port.to_string());
    let secret = (!secret.is_empty()).then(|| (SECRET_HEADER.to_owned(), secret.to_owned()));
    Ok(Address {
        url: usable(&url)?,
        headers: secret.into_iter().collect(),
        own_host: true,
        remaining: false,
    })
}

/// The address of a load-balancing endpoint.
pub(crate) fn of_balancer(template: &str, id: &str) -> Result<Address, ProviderError> {
    let url = usable(&template.replace("{id}", id))?;
    let key = ("authorization".to_owned(), format!("Bearer {KEY}"));
    Ok(Address {
        url,
        headers: BTreeMap::from([key]),
        own_host: true,
        remaining: false,
    })
}

/// The address of a queue endpoint: the translator's.
pub(crate) fn of_queue(translator: &str, id: &str) -> Address {
    let headers = [(ENDPOINT, id), (TOKEN, "")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Address {
        url: translator.to_owned(),
        headers: headers.into(),
        own_host: false,
        remaining: true,
    }
}

/// `written` with what must not be written down, and with the translator where
/// it listens now.
pub(crate) fn reached(written: &Address, key: &str, translator: &str, token: &str) -> Address {
    let mut address = written.clone();
    if address.headers.contains_key(ENDPOINT) {
        address.url = translator.to_owned();
        // One that was written down before there was such a header lacks it.
        address.remaining = true;
        address.headers.insert(TOKEN.to_owned(), token.to_owned());
    }
    for value in address.headers.values_mut() {
        if value.ends_with(KEY) {
            *value = value.replace(KEY, key);
        }
    }
    address
}

/// Scheme, host and port of `url`, in the form that every client understands.
fn usable(url: &str) -> Result<String, ProviderError> {
    let odd = || invalid("the URL of an instance must be http or https with a host");
    let url = Url::parse(url).map_err(|_| odd())?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url.as_str().trim_end_matches('/').to_owned()),
        _ => Err(odd()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_holds_no_key() {
        let written = of_balancer("https://{id}.api.runpod.ai", "4m7x").unwrap();
        assert_eq!(written.url, "https://4m7x.api.runpod.ai");
        assert!(!format!("{written:?}").contains("sentinel"));
        let used = reached(&written, "sentinel", "", "");
        assert_eq!(used.headers["authorization"], "Bearer sentinel");
    }

    #[test]
    fn a_queue_is_reached_where_the_translator_listens_now() {
        let written = of_queue("http://127.0.0.1:1", "4m7x");
        let used = reached(&written, "key", "http://127.0.0.1:2", "token");
        assert_eq!(used.url, "http://127.0.0.1:2");
        assert_eq!(
            (
                used.headers[ENDPOINT].as_str(),
                used.headers[TOKEN].as_str()
            ),
            ("4m7x", "token")
        );
    }

    #[test]
    fn a_pod_is_reached_through_its_proxy_with_its_secret() {
        let template = "https://{id}-{port}.proxy.runpod.net";
        let address = of_pod(template, "7h9k", 8000, "s3cret").unwrap();
        assert_eq!(address.url, "https://7h9k-8000.proxy.runpod.net");
        assert_eq!(address.headers[SECRET_HEADER], "s3cret");
        assert_eq!(
            of_pod("http://0x7f{id}:{port}", "010203", 80, "")
                .unwrap()
                .url,
            "http://127.1.2.3"
        );
    }
}
