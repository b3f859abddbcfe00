//! How a result's body travels to its gateway: gzip where that pays.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};

/// Less does not become smaller by as much as it costs.
const LEAST: u64 = 1 << 10;
/// More is streamed as it is.
const MOST: u64 = 8 << 20;

/// The length of a body that is worth being compressed whole; `None` for
/// streams, for what is coded already, and for what does not get smaller.
pub(crate) fn worth_compressing(headers: &HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let length: u64 = text(CONTENT_LENGTH)?.parse().ok()?;
    let coded = headers.contains_key(CONTENT_ENCODING);
    let kind = text(CONTENT_TYPE).is_some_and(compressible);
    (!coded && kind && (LEAST + 1..=MOST).contains(&length)).then_some(length)
}

/// Text in any dress, JSON, XML, and arrays of numbers as protocols send them.
fn compressible(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind.starts_with("text/") && kind != "text/event-stream"
        || kind.ends_with("json")
        || kind.ends_with("xml")
        || kind == "application/x-ndjson"
}

/// `body` as gzip, if that is smaller.
pub(crate) fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).ok()?;
    let coded = encoder.finish().ok()?;
    (coded.len() < body.len()).then_some(coded)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use http::HeaderValue;

    use super::*;

    fn headers(kind: &'static str, length: u64) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        headers
    }

    #[test]
    fn text_of_known_length_above_a_kibibyte_is_compressed() {
        let worth = |kind, length| worth_compressing(&headers(kind, length)).is_some();
        assert!(worth("application/json; charset=utf-8", 1_025));
        assert!(worth("application/problem+json", 4_000) && worth("text/plain", 4_000));
        assert!(!worth("application/json", 1_024));
        assert!(!worth("image/png", 4_000) && !worth("application/octet-stream", 4_000));
        assert!(!worth("application/json", 9 << 20));
    }

    #[test]
    fn streams_and_what_is_coded_pass_as_they_are() {
        let mut stream = headers("application/json", 4_000);
        stream.remove(CONTENT_LENGTH);
        assert_eq!(worth_compressing(&stream), None);
        assert_eq!(
            worth_compressing(&headers("text/event-stream", 4_000)),
            None
        );
        let mut coded = headers("application/json", 4_000);
        coded.insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
        assert_eq!(worth_compressing(&coded), None);
    }

    #[test]
    fn gzip_is_kept_only_when_it_is_smaller() {
        let text = "{\"class\":\"cat\"}".repeat(200);
        let coded = gzip(text.as_bytes()).unwrap();
        let mut back = String::new();
        flate2::read::GzDecoder::new(&coded[..])
            .read_to_string(&mut back)
            .unwrap();
        assert_eq!(back, text);
        let noise: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(167)).collect();
        assert_eq!(gzip(&noise), None);
    }
}
