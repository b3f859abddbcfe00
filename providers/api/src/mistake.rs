use thermocline_wire::nearest;
use thermocline_wire::provider::Mistake;

/// Names that are told to whoever named none of them.
const MOST_NAMES: usize = 8;

/// The mistake of a request whose GPU at `index` is named `word`, which is none
/// of the `known` ones of `provider`.
pub fn unknown_gpu<'k>(
    index: usize,
    word: &str,
    provider: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Mistake {
    let known = nearest(word, known);
    let mut names = known[..known.len().min(MOST_NAMES)].join(", ");
    if let Some(more @ 1..) = known.len().checked_sub(MOST_NAMES) {
        names.push_str(&format!(" and {more} more"));
    }
    let word: String = word.chars().take(64).collect();
    let message = format!("{word:?} is no GPU of {provider}; it has {names}");
    Mistake::in_tier(format!("gpu[{index}]"), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_gpu_is_told_with_those_that_are_known_the_nearest_first() {
        let known = ["A100", "L4", "L40S"];
        let mistake = unknown_gpu(1, "L40-S", "acme", known);
        let message = "\"L40-S\" is no GPU of acme; it has L40S, L4, A100";
        assert_eq!(mistake, Mistake::in_tier("gpu[1]", message));
        let many: Vec<String> = (0..20).map(|i| format!("G{i}")).collect();
        let mistake = unknown_gpu(0, "x", "acme", many.iter().map(String::as_str));
        assert!(
            mistake.message.ends_with(" and 12 more"),
            "{}",
            mistake.message
        );
    }
}
