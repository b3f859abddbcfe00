use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;

/// The longest delay that is believed.
const LONGEST_DELAY: Duration = Duration::from_secs(3_600);

/// `Retry-After` in seconds, an hour at most; a date is not understood.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let seconds = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_believed_up_to_an_hour() {
        let told = |value: &'static str| {
            let value = http::HeaderValue::from_static(value);
            retry_after(&HeaderMap::from_iter([(RETRY_AFTER, value)]))
        };
        assert_eq!(told(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(told("999999999"), Some(LONGEST_DELAY));
        for odd in ["", "-1", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(told(odd), None, "{odd}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
