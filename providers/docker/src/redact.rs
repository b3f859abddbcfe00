//! The daemon's words, fit for people who must not learn about this machine.

use std::net::{IpAddr, SocketAddr};

const LONGEST: usize = 240;
const HIDDEN: &str = "…";
/// Container ids are this long at least.
const ID: usize = 12;

/// `text` without paths, addresses, host names and ids, on one short line.
pub(crate) fn redact(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().map(shown).collect();
    let line = words.join(" ");
    line.chars()
        .filter(|c| !c.is_control())
        .take(LONGEST)
        .collect()
}

fn shown(word: &str) -> &str {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if word.contains('/') || word.contains("::") || is_address(bare) || is_id(bare) {
        HIDDEN
    } else {
        word
    }
}

fn is_address(bare: &str) -> bool {
    let dotted = bare.contains('.') && bare.parse::<f64>().is_err();
    dotted || bare.parse::<IpAddr>().is_ok() || bare.parse::<SocketAddr>().is_ok()
}

fn is_id(bare: &str) -> bool {
    bare.len() >= ID && bare.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_learn_what_happened_and_not_where() {
        let cases = [
            (
                "Get \"https://no.such.example/v2/\": dial tcp: lookup no.such.example on 10.255.255.53:53: no such host",
                "Get … dial tcp: lookup … on … no such host",
            ),
            (
                "listen tcp4 127.0.0.1:18999: bind: address already in use",
                "listen tcp4 … bind: address already in use",
            ),
            (
                "exec: \"/no/such\": stat /no/such: no such file or directory: unknown",
                "exec: … stat … no such file or directory: unknown",
            ),
            (
                "endpoint t3 (282d6d8fef4976e6a922cd92d6612ee4): [::1]:80 refused",
                "endpoint t3 … … refused",
            ),
            (
                "Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available",
                "Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available",
            ),
        ];
        for (said, expected) in cases {
            assert_eq!(redact(said), expected);
        }
    }

    #[test]
    fn a_long_text_is_cut_and_control_characters_go() {
        assert_eq!(redact(&"x ".repeat(1_000)).chars().count(), LONGEST);
        assert_eq!(redact("a\u{1b}[31mb"), "a[31mb");
    }
}
