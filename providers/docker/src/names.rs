//! What our containers are called, and how they are known again.

use std::collections::HashMap;

use thermocline_provider::{InstanceRequest, ProviderError, ProviderErrorKind};

/// Whose it is; what lacks this label is not ours.
pub(crate) const OWNER: &str = "thermocline.owner";
/// The instance key.
pub(crate) const INSTANCE: &str = "thermocline.instance";
const DEPLOYMENT: &str = "thermocline.deployment";
const TIER: &str = "thermocline.tier";

const LONGEST: usize = 100;

/// The labels of the container of `key`.
pub(crate) fn labels(key: &str, request: &InstanceRequest) -> HashMap<String, String> {
    let pairs = [
        (OWNER, request.owner.as_str()),
        (INSTANCE, key),
        (DEPLOYMENT, &request.deployment),
        (TIER, request.tier.as_str()),
    ];
    pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
}

/// The name of the container of `key`.
///
/// # Errors
/// `Invalid` when the owner or the key has characters that Docker does not take.
pub(crate) fn container_name(owner: &str, key: &str) -> Result<String, ProviderError> {
    for (what, word) in [("owner", owner), ("key", key)] {
        if !is_word(word) {
            let detail = format!("the {what} is not of letters, digits, `-`, `_` and `.`");
            return Err(ProviderError::new(ProviderErrorKind::Invalid, detail));
        }
    }
    Ok(format!("tc-{owner}-{}", key.to_ascii_lowercase()))
}

/// Whether `word` may stand in a container's name, and in a path of the
/// daemon's API without becoming more than one segment.
pub(crate) fn is_word(word: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !word.is_empty() && word.len() <= LONGEST && word.chars().all(allowed) && !word.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is_and_which() {
        let name = container_name("home", "01JABCDEF").unwrap();
        assert_eq!(name, "tc-home-01jabcdef");
    }

    #[test]
    fn nothing_reaches_another_path_of_the_daemon() {
        for word in ["", "..", "a/b", "a?force=1", "a%2fb", "ä", &"x".repeat(101)] {
            assert!(!is_word(word), "{word}");
            let refused = container_name("home", word).unwrap_err();
            assert_eq!(refused.kind, ProviderErrorKind::Invalid);
        }
    }
}
