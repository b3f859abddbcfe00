/// How much of a provider's own words is kept, characters.
const LONGEST: usize = 300;

/// A provider's own words on one short line, without `secrets`, which it was
/// told in confidence.
pub fn one_line(words: &str, secrets: &[&str]) -> String {
    let mut words = words.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        words = words.replace(secret, "…");
    }
    let line = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(LONGEST).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_short_line_without_what_was_told_in_confidence() {
        let words = "no\nkey sentinel\u{1b}[31m";
        assert_eq!(one_line(words, &["sentinel", ""]), "no key … [31m");
        assert_eq!(one_line(&"x".repeat(999), &[]).len(), LONGEST);
    }
}
