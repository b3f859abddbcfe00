//! Browsers that are logged in: a cookie instead of the token, for a week at most.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method};
use sha2::{Digest, Sha256};
use thermocline_store::{SessionRow, Store, StoreError};

const NAME: &str = "thermocline_session";
/// Where the cookie is sent: nowhere but to the API.
const PATH: &str = "/api/v1";
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A session just opened.
pub(crate) struct Opened {
    /// What the browser is to keep.
    pub(crate) cookie: HeaderValue,
    /// Microseconds since 1970, UTC.
    pub(crate) expires_at: i64,
}

/// Opens a session for who has shown the token of `token_hash`.
///
/// # Errors
/// The store's.
pub(crate) async fn open(
    store: &Store,
    token_hash: &[u8; 32],
    secure: bool,
    now: i64,
) -> Result<Opened, StoreError> {
    let mut secret = [0u8; 32];
    // Without randomness of the system there is no safe way on.
    getrandom::fill(&mut secret).unwrap_or_else(|_| std::process::abort());
    let value = URL_SAFE_NO_PAD.encode(secret);
    let expires_at = now + LIFETIME.as_micros() as i64;
    let row = SessionRow {
        hash: digest(&value),
        token_hash: *token_hash,
        expires_at,
    };
    store.add_session(&row, now).await?;
    Ok(Opened {
        cookie: cookie(&value, LIFETIME, secure),
        expires_at,
    })
}

/// Ends the session of a request, where it has one; the cookie that replaces it.
///
/// # Errors
/// The store's.
pub(crate) async fn close(store: &Store, headers: &HeaderMap) -> Result<HeaderValue, StoreError> {
    if let Some(value) = given(headers) {
        store.drop_session(&digest(value)).await?;
    }
    Ok(cookie("", Duration::ZERO, false))
}

/// When the session of a request ends, where it is one of `token_hash`.
///
/// # Errors
/// The store's.
pub(crate) async fn of(
    store: &Store,
    headers: &HeaderMap,
    token_hash: &[u8; 32],
    now: i64,
) -> Result<Option<i64>, StoreError> {
    let Some(value) = given(headers) else {
        return Ok(None);
    };
    let end = store.session_end(&digest(value), token_hash).await?;
    Ok(end.filter(|end| now < *end))
}

/// Whether a request that is allowed by a cookie alone comes from our own
/// pages: a page of another port of this host sends the cookie too.
pub(crate) fn comes_from_us(method: &Method, headers: &HeaderMap) -> bool {
    if method.is_safe() {
        return true;
    }
    let text = |name| {
        headers
            .get(name)
            .and_then(|v: &HeaderValue| v.to_str().ok())
    };
    match (text(ORIGIN), text(HOST)) {
        (Some(origin), Some(host)) => {
            authority(origin).is_some_and(|o| o.eq_ignore_ascii_case(host))
        }
        _ => false,
    }
}

/// Whether the browser says that it came over TLS.
pub(crate) fn is_secure(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).and_then(|v| v.to_str().ok());
    origin.is_some_and(|origin| origin.starts_with("https://"))
}

fn authority(origin: &str) -> Option<&str> {
    origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"))
}

fn given(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).iter();
    let cookies = lines.filter_map(|line| line.to_str().ok());
    cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == NAME)
        .map(|(_, value)| value)
}

fn cookie(value: &str, lifetime: Duration, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let age = lifetime.as_secs();
    let text =
        format!("{NAME}={value}; Path={PATH}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    // Letters, digits and punctuation alone.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

fn digest(value: &str) -> [u8; 32] {
    Sha256::digest(value.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: [u8; 32] = [7; 32];

    fn with_cookie(opened: &Opened) -> HeaderMap {
        let text = opened.cookie.to_str().unwrap();
        let pair = text.split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("other=1; {pair}").parse().unwrap());
        headers
    }

    #[tokio::test]
    async fn a_session_is_good_until_it_ends_or_is_closed() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let opened = open(&store, &TOKEN, false, 0).await.unwrap();
        let headers = with_cookie(&opened);
        let end = of(&store, &headers, &TOKEN, 1).await.unwrap();
        assert_eq!(end, Some(opened.expires_at));
        let late = of(&store, &headers, &TOKEN, opened.expires_at)
            .await
            .unwrap();
        assert_eq!(late, None);
        let other = of(&store, &headers, &[8; 32], 1).await.unwrap();
        assert_eq!(other, None, "another token's sessions are none");
        close(&store, &headers).await.unwrap();
        assert_eq!(of(&store, &headers, &TOKEN, 1).await.unwrap(), None);
    }

    #[tokio::test]
    async fn scripts_and_other_sites_never_see_the_cookie() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let opened = open(&store, &TOKEN, true, 0).await.unwrap();
        let text = opened.cookie.to_str().unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Path=/api/v1", "Secure"] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn a_write_needs_an_origin_that_is_this_very_host_and_port() {
        let from = |origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost:8081".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            headers
        };
        let ours = from(Some("http://localhost:8081"));
        assert!(comes_from_us(&Method::DELETE, &ours));
        for origin in [
            None,
            Some("null"),
            Some("http://localhost:8080"),
            Some("http://localhost:8081.evil.example"),
        ] {
            assert!(!comes_from_us(&Method::DELETE, &from(origin)), "{origin:?}");
            assert!(comes_from_us(&Method::GET, &from(origin)), "{origin:?}");
        }
    }
}
