//! What an earlier life of this worker left running. The key of an instance tells
//! by a mark what was loaded, so that it is known again and nothing else is.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use ulid::Ulid;

/// The keys that were found, by their marks.
#[derive(Default)]
pub(super) struct Left(Mutex<BTreeMap<String, Vec<String>>>);

impl Left {
    /// Remembers those of `keys` that have a mark; whether there are any.
    pub(super) fn found(&self, keys: impl Iterator<Item = String>) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.clear();
        for key in keys {
            if let Some((_, mark)) = key.split_once('-') {
                left.entry(mark.to_owned()).or_default().push(key);
            }
        }
        !left.is_empty()
    }

    /// Those with `mark`, once.
    pub(super) fn take(&self, mark: &str) -> Vec<String> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.remove(mark).unwrap_or_default()
    }
}

/// A key for an instance with `mark` that no other has.
pub(super) fn new_key(mark: &str) -> String {
    format!("{}-{mark}", Ulid::generate())
}

/// What tells a generation of `deployment` on the GPUs with these UUIDs from all others.
pub(super) fn mark(deployment: &str, generation: &str, gpus: &[String]) -> String {
    let mut hash = Sha256::new();
    for part in [deployment, generation]
        .into_iter()
        .chain(gpus.iter().map(String::as_str))
    {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_a_generation_and_its_place() {
        let gpus = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let it = mark("m", "1", &gpus(&["a"]));
        assert_eq!(mark("m", "1", &gpus(&["a"])), it);
        for other in [
            mark("n", "1", &gpus(&["a"])),
            mark("m", "2", &gpus(&["a"])),
            mark("m", "1", &gpus(&["b"])),
            mark("m", "1", &gpus(&["a", "b"])),
            mark("m1", "", &gpus(&["a"])),
        ] {
            assert_ne!(other, it);
        }
    }

    #[test]
    fn what_is_left_is_found_by_its_mark_and_given_once() {
        let left = Left::default();
        let (one, two) = (new_key("aa"), new_key("aa"));
        let keys = [one.clone(), "01JUNMARKED".to_owned(), two.clone()];
        assert!(left.found(keys.into_iter()));
        assert_eq!(left.take("bb"), Vec::<String>::new());
        assert_eq!(left.take("aa"), [one, two]);
        assert_eq!(left.take("aa"), Vec::<String>::new());
        assert!(!left.found(["01JUNMARKED".to_owned()].into_iter()));
    }
}
