//! What a client reads of a start that failed: what it can do about it. Why it
//! failed at the provider is for the operator, in the deployment's status and
//! in the events.

use thermocline_table::StartFailed;

use super::{Refusal, refuse};

/// The refusal after a failed start.
pub(crate) fn start_failed(error: &StartFailed) -> Refusal {
    let (code, detail) = match error.code {
        "no_capacity" | "quota" | "rate_limited" => (
            "no_capacity",
            "there is no capacity for it now; try again later".to_owned(),
        ),
        "unavailable" => (
            "unavailable",
            "who would start it does not answer; try again later".to_owned(),
        ),
        "budget" => (
            "budget",
            "a budget does not allow it now; try again later".to_owned(),
        ),
        "draining" => (
            "draining",
            "the server is shutting down; try again soon".to_owned(),
        ),
        "stopped" => (
            "stopped",
            "it was stopped meanwhile; try again once it is awake".to_owned(),
        ),
        "deleting" => ("deleting", "it is being torn down".to_owned()),
        "start_timeout" => (
            "start_timeout",
            "it was not ready in time; try again later".to_owned(),
        ),
        "port_conflict" => (
            "port_conflict",
            "a port that it needs is taken; its operator must act".to_owned(),
        ),
        "auth" | "invalid" | "host_misconfigured" | "no_provider" => (
            "start_failed",
            "it cannot be started as it is; its operator must act".to_owned(),
        ),
        _ => ("start_failed", ended(&error.detail)),
    };
    refuse(503, code, detail).retry_after(error.retry_after)
}

fn ended(detail: &str) -> String {
    match exit_code(detail) {
        Some(code) => format!("it exited with code {code} while it started; try again later"),
        None => "it could not be started now; try again later".to_owned(),
    }
}

/// The number in "… code N …", as adapters tell of what ended by itself.
fn exit_code(detail: &str) -> Option<i32> {
    let (_, after) = detail.split_once("code ")?;
    let end = after
        .char_indices()
        .find(|(i, c)| !(c.is_ascii_digit() || (*i == 0 && *c == '-')));
    after[..end.map_or(after.len(), |(i, _)| i)].parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn told(code: &'static str, detail: &str) -> (&'static str, String) {
        let refusal = start_failed(&StartFailed {
            code,
            detail: detail.to_owned(),
            retry_after: Duration::from_secs(7),
        });
        assert_eq!(refusal.status.as_u16(), 503);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(7)));
        (refusal.code, refusal.detail)
    }

    #[test]
    fn b25_the_exit_code_is_told_and_nothing_else_of_the_detail() {
        for detail in ["exited with code 37: out of memory at /x", "exit code 37"] {
            let (code, sentence) = told("start_failed", detail);
            assert_eq!(code, "start_failed");
            assert!(sentence.contains("exited with code 37 "), "{sentence}");
            assert!(!sentence.contains("memory"), "{sentence}");
        }
        let (_, sentence) = told("start_failed", "code x");
        assert_eq!(sentence, "it could not be started now; try again later");
    }

    #[test]
    fn no_word_of_a_provider_reaches_a_client() {
        let secret = "daemon says: pull access denied for 10.0.0.1/secret";
        for (code, expected) in [
            ("invalid", "start_failed"),
            ("auth", "start_failed"),
            ("no_daemon", "start_failed"),
            ("unavailable", "unavailable"),
            ("quota", "no_capacity"),
            ("no_capacity", "no_capacity"),
            ("port_conflict", "port_conflict"),
        ] {
            let (told, sentence) = told(code, secret);
            assert_eq!(told, expected);
            assert!(!sentence.contains("daemon") && !sentence.contains("10.0.0.1"));
        }
    }
}
