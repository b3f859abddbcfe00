use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use thermocline_wire::{LEAST_HIDDEN, hide};

/// The values that nobody may read; clones share them.
///
/// It is the last line of defence, for words that come from elsewhere: an
/// adapter's error that repeats what it was sent, a library's debug line.
#[derive(Clone, Default)]
pub struct Redaction(Arc<RwLock<Vec<String>>>);

impl Redaction {
    /// Hides `value` from now on, where it has six bytes or more; of a text of
    /// several lines each line too.
    pub fn hide(&self, value: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let escaped = serde_json::Value::from(value).to_string();
        let inside = &escaped[1..escaped.len() - 1];
        for text in [value, inside].into_iter().chain(value.lines()) {
            let text = text.trim();
            if text.len() >= LEAST_HIDDEN && !all.iter().any(|known| known == text) {
                all.push(text.to_owned());
            }
        }
        // A longer text goes before those that are a part of it.
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }

    /// `text` without what is hidden, also where `text` was cut within it.
    pub fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        hide(text, all.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_hidden_wherever_it_stands() {
        let redaction = Redaction::default();
        assert_eq!(redaction.clean("hf_Sentinel"), "hf_Sentinel");
        redaction.hide("hf_Sentinel");
        assert_eq!(
            redaction.clean("bad token hf_Sentinel, hf_Sentinel"),
            "bad token [secret], [secret]"
        );
        assert!(matches!(redaction.clean("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_text_that_was_cut_within_it_tells_no_half() {
        let redaction = Redaction::default();
        redaction.hide("hf_Sentinel");
        assert_eq!(redaction.clean("bad token hf_Sent"), "bad token [secret]");
        assert_eq!(redaction.clean("bad token hf_Sent…"), "bad token [secret]");
        assert_eq!(redaction.clean("bad token hf_"), "bad token hf_");
    }

    #[test]
    fn lines_and_escapes_are_found_too() {
        let redaction = Redaction::default();
        redaction.hide("first line\nsecond \"line\"\n");
        assert_eq!(redaction.clean("it said: first line"), "it said: [secret]");
        let dumped = serde_json::json!({ "env": "first line\nsecond \"line\"\n" }).to_string();
        assert!(!redaction.clean(&dumped).contains("line"));
    }

    #[test]
    fn a_short_value_changes_no_words() {
        let redaction = Redaction::default();
        redaction.hide("1");
        assert_eq!(redaction.clean("127.0.0.1"), "127.0.0.1");
    }
}
