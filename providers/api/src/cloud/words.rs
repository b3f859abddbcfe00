use std::net::{IpAddr, SocketAddr};

/// How much of a provider's own words is kept, characters.
const LONGEST: usize = 300;

/// A provider's own words on one short line, without `secrets`, which it was
/// told in confidence, and without places: paths of files and addresses.
pub fn one_line(words: &str, secrets: &[&str]) -> String {
    let mut words = words.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        words = words.replace(secret, "…");
    }
    let line = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = line.collect();
    let placeless: Vec<&str> = line.split(' ').map(without_place).collect();
    let line = placeless.join(" ");
    line.trim().chars().take(LONGEST).collect()
}

/// `word`, unless it is the path of a file, an address or a URL.
fn without_place(word: &str) -> &str {
    let inside = |c: char| !c.is_alphanumeric() && c != '/' && c != '[';
    let bare = word.trim_matches(inside);
    let path = bare
        .strip_prefix('/')
        .is_some_and(|rest| rest.contains('/'));
    let address = bare.parse::<SocketAddr>().is_ok() || bare.parse::<IpAddr>().is_ok();
    match path || address || bare.contains("://") {
        true => "…",
        false => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_short_line_without_what_was_told_in_confidence() {
        let words = "no\nkey sentinel\u{1b}[31m";
        assert_eq!(one_line(words, &["sentinel", ""]), "no key … [31m");
        assert_eq!(one_line(&"x".repeat(999), &[]).len(), LONGEST);
        let places =
            "no such file: '/var/lib/acme/x.sock', dial 10.0.0.7:443 at http://acme/x (l4/eu)";
        let expected = "no such file: … dial … at … (l4/eu)";
        assert_eq!(one_line(places, &[]), expected);
    }
}
