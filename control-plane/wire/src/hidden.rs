use std::borrow::Cow;

/// What stands in the place of what nobody may read.
const HIDDEN: &str = "[secret]";

/// The shortest text that [`hide`] searches for, bytes: a shorter one is a part
/// of too many words.
pub const LEAST_HIDDEN: usize = 6;

/// `text` without `values`, also where `text` was cut within one of them. What
/// holds another must come before it; what is shorter than [`LEAST_HIDDEN`]
/// is let stand.
pub fn hide<'t>(text: &'t str, values: impl IntoIterator<Item = impl AsRef<str>>) -> Cow<'t, str> {
    let mut clean = Cow::Borrowed(text);
    for value in values {
        let value = value.as_ref();
        if value.len() < LEAST_HIDDEN {
            continue;
        }
        if clean.contains(value) {
            clean = Cow::Owned(clean.replace(value, HIDDEN));
        }
        if let Some(kept) = cut_within(&clean, value) {
            clean = Cow::Owned(format!("{}{HIDDEN}", &clean[..kept]));
        }
    }
    clean
}

/// Where a beginning of `hidden` begins that `text` ends with.
fn cut_within(text: &str, hidden: &str) -> Option<usize> {
    let body = text.trim_end_matches('…');
    let longest = hidden.len().min(body.len());
    let ends = (LEAST_HIDDEN..longest).rev();
    ends.filter(|length| hidden.is_char_boundary(*length))
        .find(|length| body.ends_with(&hidden[..*length]))
        .map(|length| body.len() - length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_value_changes_no_words() {
        assert_eq!(hide("127.0.0.1", ["1", ""]), "127.0.0.1");
    }

    #[test]
    fn what_is_cut_within_a_value_tells_no_half_of_it() {
        assert_eq!(hide("ends hf_Sent", ["hf_Sentinel"]), "ends [secret]");
        assert_eq!(hide("ends hf_Sent…", ["hf_Sentinel"]), "ends [secret]");
        assert_eq!(hide("ends hf_", ["hf_Sentinel"]), "ends hf_");
        assert!(matches!(hide("none", ["hf_Sentinel"]), Cow::Borrowed(_)));
    }
}
