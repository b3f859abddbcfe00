use std::cmp::Reverse;

/// `known` names, those first that `word` most likely means.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let word = folded(word);
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_by_cached_key(|name| Reverse(likeness(&word, &folded(name))));
    known
}

/// What `word` may have been meant to be: the nearest of the `known` names, three
/// at most, and none that is nothing like it.
pub fn near<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let (wanted, most) = (folded(word), 3);
    let alike = |name: &&str| likeness(&wanted, &folded(name)) >= ALIKE;
    nearest(word, known)
        .into_iter()
        .filter(alike)
        .take(most)
        .collect()
}

/// A likeness that is no chance.
const ALIKE: u32 = 800;

/// Case and signs are what people get wrong.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// 0 to 1,000, and a thousand more where one name holds the other.
fn likeness(word: &str, name: &str) -> u32 {
    let alike = (strsim::jaro_winkler(word, name) * 1_000.0) as u32;
    let holds = !word.is_empty() && (name.contains(word) || word.contains(name));
    alike + if holds { 1_000 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_most_likely_meant_comes_first() {
        let gpus = ["NVIDIA L4", "NVIDIA GeForce RTX 4090", "AMPERE_24"];
        let first = |word| nearest(word, gpus)[0];
        assert_eq!(first("rtx-4090"), "NVIDIA GeForce RTX 4090");
        assert_eq!(first("nvidia l4"), "NVIDIA L4");
        assert_eq!(first("AMPER_24"), "AMPERE_24");
        assert_eq!(nearest("", gpus).len(), 3, "none is left out");
        assert_eq!(near("nvidia-l4", gpus)[0], "NVIDIA L4");
        assert_eq!(near("sdxl", gpus), [""; 0]);
    }
}
