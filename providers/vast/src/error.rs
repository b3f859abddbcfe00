//! What an answer means, in the provider's error kinds.

use thermocline_provider::cloud::one_line;
use thermocline_provider::{ProviderError, ProviderErrorKind as Kind};

use crate::said::Refusal;

/// What an answer that says no has said: its shapes vary, and some are no JSON.
#[derive(Debug, Default)]
pub(crate) struct No {
    pub(crate) status: u16,
    /// Everything it says, for recognising it.
    pub(crate) words: String,
    /// The instance that was made all the same.
    pub(crate) contract: Option<u64>,
    /// Whether it is one of the API's own, not of something in between.
    json: bool,
}

impl No {
    /// Reads `body`; `None` when a success is one.
    pub(crate) fn read(status: u16, body: &[u8]) -> Option<Self> {
        let said = Refusal::read(body);
        let good = (200..300).contains(&status);
        if good && said.as_ref().is_none_or(|it| it.success != Some(false)) {
            return None;
        }
        let json = said.is_some();
        let (words, contract) = match said {
            Some(said) => (said.words.join(": "), said.new_contract),
            None => (text(body), None),
        };
        Some(No {
            status,
            words,
            contract,
            json,
        })
    }

    fn says(&self, words: &str) -> bool {
        self.words.contains(words)
    }

    /// Whether the service says that it does not know the instance.
    pub(crate) fn is_absence(&self) -> bool {
        self.says("no_such_instance")
            || self.status == 404 && self.json && self.kind() == Kind::Invalid
    }

    /// Whether it may have been obeyed all the same.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.kind() == Kind::Unavailable
    }

    /// What it means; a rate limit's delay is not in it.
    pub(crate) fn kind(&self) -> Kind {
        match self.status {
            429 => Kind::RateLimited(None),
            _ if self.says("too frequent") => Kind::RateLimited(None),
            402 => Kind::NoCredit,
            _ if self.says("insufficient_credit") || self.says("lacks credit") => Kind::NoCredit,
            _ if self.says("Invalid user key") => Kind::Auth,
            410 => Kind::NoCapacity,
            // Gone, priced anew since the search, or never for us.
            _ if ["no_such_ask", "invalid_price", "is not your own"]
                .iter()
                .any(|words| self.says(words)) =>
            {
                Kind::NoCapacity
            }
            401 | 403 => Kind::Auth,
            400 | 404 | 405 | 413 | 422 => Kind::Invalid,
            _ => Kind::Unavailable,
        }
    }

    /// The error, without `key`.
    pub(crate) fn error(&self, kind: Kind, key: &str) -> ProviderError {
        // What is no JSON is somebody else's page: it tells nobody anything.
        let told = self.json || matches!(kind, Kind::RateLimited(_));
        let detail = one_line(if told { &self.words } else { "" }, &[key]);
        match detail.is_empty() {
            true => ProviderError::new(
                kind,
                format!("Vast.ai answered with status {}", self.status),
            ),
            false => ProviderError::new(kind, detail),
        }
    }
}

fn text(body: &[u8]) -> String {
    const MOST: usize = 2_000;
    String::from_utf8_lossy(&body[..body.len().min(MOST)]).into_owned()
}

/// `unavailable`: it says nothing about what exists.
pub(crate) fn unavailable(detail: &str) -> ProviderError {
    ProviderError::new(Kind::Unavailable, detail)
}

/// `invalid`: a person must change the request.
pub(crate) fn invalid(detail: impl Into<String>) -> ProviderError {
    ProviderError::new(Kind::Invalid, detail)
}

/// `unavailable`, because the answer is not of the API.
pub(crate) fn malformed() -> ProviderError {
    unavailable("Vast.ai's answer cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no(status: u16, body: &str) -> No {
        No::read(status, body.as_bytes()).unwrap()
    }

    #[test]
    fn refusals_are_known_by_status_and_words_in_every_shape() {
        let cases = [
            (
                401,
                r#"{"success":false,"msg":"Invalid user key"}"#,
                Kind::Auth,
            ),
            (404, "Invalid user key", Kind::Auth),
            (402, "", Kind::NoCredit),
            (400, r#"{"error":"insufficient_credit"}"#, Kind::NoCredit),
            (
                410,
                r#"{"error":"no_such_ask","ask_id":7}"#,
                Kind::NoCapacity,
            ),
            (
                404,
                r#"{"error":"invalid_args","msg":"error 404/3603: no_such_ask Instance type by id 7 is not available."}"#,
                Kind::NoCapacity,
            ),
            (400, r#"{"error":"invalid_price"}"#, Kind::NoCapacity),
            (
                403,
                r#"{"msg":"error 403/3586: Offer 7 is not your own."}"#,
                Kind::NoCapacity,
            ),
            (
                400,
                r#"{"error":"invalid_args","msg":"image"}"#,
                Kind::Invalid,
            ),
            (
                429,
                "API requests too frequent: endpoint threshold=4.5",
                Kind::RateLimited(None),
            ),
            (
                200,
                r#"{"success":false,"message":"odd"}"#,
                Kind::Unavailable,
            ),
            (500, "<html>", Kind::Unavailable),
            (302, "", Kind::Unavailable),
        ];
        for (status, body, kind) in cases {
            assert_eq!(no(status, body).kind(), kind, "{status} {body}");
        }
        assert!(No::read(200, br#"{"success":true,"new_contract":7}"#).is_none());
        assert!(No::read(200, b"anything").is_none());
    }

    #[test]
    fn an_error_may_name_the_instance_that_it_made() {
        let body = r#"{"success":false,"error":"bid too low","new_contract":77}"#;
        assert_eq!(no(400, body).contract, Some(77));
    }

    #[test]
    fn a_field_of_an_odd_type_loses_no_other() {
        let odd = [
            (
                r#"{"success":false,"error":null,"msg":["no_such_ask"],"new_contract":"77"}"#,
                Some(77),
            ),
            (
                r#"{"success":false,"error":{"code":"no_such_ask"},"new_contract":[]}"#,
                None,
            ),
            (
                r#"{"success":false,"detail":7,"message":"no_such_ask 7"}"#,
                None,
            ),
        ];
        for (body, contract) in odd {
            let no = no(200, body);
            assert_eq!(
                (no.kind(), no.contract),
                (Kind::NoCapacity, contract),
                "{body}"
            );
        }
        assert_eq!(
            no(400, r#"{"success":"false","error":1}"#).kind(),
            Kind::Invalid
        );
    }

    #[test]
    fn absence_is_said_by_the_api_alone() {
        assert!(no(404, r#"{"success":false,"error":"no_such_instance"}"#).is_absence());
        assert!(no(404, r#"{"msg":"not found"}"#).is_absence());
        assert!(!no(404, "<html>not found</html>").is_absence());
        assert!(!no(404, r#"{"msg":"Invalid user key"}"#).is_absence());
    }

    #[test]
    fn neither_keys_nor_pages_are_told() {
        let told = no(400, r#"{"msg":"bad sentinel"}"#).error(Kind::Invalid, "sentinel");
        assert_eq!(told.detail, "bad …");
        let told = no(502, "<html>sentinel</html>").error(Kind::Unavailable, "sentinel");
        assert_eq!(told.detail, "Vast.ai answered with status 502");
    }
}
