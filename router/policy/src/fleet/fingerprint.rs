use std::fmt;

use super::FailureKind;
use super::identity::fnv1a;

/// What failures have in common whose details differ only in what is particular to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl fmt::Display for Fingerprint {
    /// Sixteen hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The fingerprint of a failure: the same in every process and version, and
/// whatever numbers, ids, addresses and hexadecimal stand in `detail`.
///
/// It says nothing of the deployment, so what fails for many for one reason is
/// found together.
pub fn fingerprint(kind: FailureKind, status: Option<u16>, detail: &str) -> Fingerprint {
    let status = status.map_or(0, u32::from);
    let text = format!("{} {status} {}", kind.as_str(), general(detail));
    Fingerprint(fnv1a(text.as_bytes()))
}

/// `detail` in lower case, with `#` for each part that is particular.
fn general(detail: &str) -> String {
    let lower = detail.to_lowercase();
    let words = lower.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;=|".contains(c));
    let mut general: Vec<String> = words.map(general_word).collect();
    general.retain(|word| !word.is_empty());
    general.dedup_by(|word, before| word == "#" && before.ends_with('#'));
    general.join(" ")
}

fn general_word(word: &str) -> String {
    let word = word.trim_matches(['.', ':', '!', '?']);
    match word.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://#"),
        None if is_address(word) => "#".to_owned(),
        None => general_parts(word),
    }
}

/// Whether `word` is nothing but hexadecimal and what joins it in addresses,
/// UUIDs and hashes, and more than a word of letters.
fn is_address(word: &str) -> bool {
    let word = word
        .split_once('%')
        .map_or(word, |(address, _zone)| address);
    let joins = |c: char| ":-./_".contains(c);
    let hex = word.chars().all(|c| c.is_ascii_hexdigit() || joins(c));
    let numeric = word.chars().any(|c| c.is_ascii_digit());
    hex && (numeric || word.len() >= 8 || word.contains("::"))
}

/// `word`, with one `#` for each run of parts that hold a digit or are long hexadecimal.
fn general_parts(word: &str) -> String {
    let parts = word.split(|c: char| !c.is_alphanumeric());
    let mut parts: Vec<&str> = parts
        .map(|part| if is_particular(part) { "#" } else { part })
        .collect();
    parts.dedup_by(|part, before| *part == "#" && *before == "#");
    parts.join(".")
}

fn is_particular(part: &str) -> bool {
    let long_hex = part.len() >= 8 && part.chars().all(|c| c.is_ascii_hexdigit());
    long_hex || part.chars().any(|c| c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(detail: &str) -> Fingerprint {
        fingerprint(FailureKind::RuntimeFailed, Some(500), detail)
    }

    #[test]
    fn what_is_particular_to_a_failure_does_not_tell_it_apart() {
        let same = [
            (
                "out of memory: 812 MiB asked",
                "Out of memory: 20480 MiB asked",
            ),
            (
                "connect 10.0.0.1:8080: refused",
                "connect [fe80::1%eth0]:9: refused",
            ),
            (
                "connect 10.0.0.1:8080: refused",
                "connect 192.168.17.4:43121: refused",
            ),
            ("peer dead:beef::1 is gone", "peer 2001:db8::2 is gone"),
            (
                "job 01JDXM5K9QZJ3V8W2R4T6Y8B0C failed",
                "job 01JDXM5K9R0000000000000000 failed",
            ),
            (
                "request 4f7c1b9e-3c9f-4c0e-8d3a-0a1b2c3d4e5f failed",
                "request deadbeef-cafe-babe-feed-facefeedface failed",
            ),
            (
                "segfault at 0x7ffe3c, ip 00005618deadbeef",
                "segfault at 0x0, ip 1",
            ),
            (
                "GET http://a.example/v2/x?y=1 failed",
                "GET http://10.1.2.3:9/v3 failed",
            ),
            ("layer sha256:deadbeef", "layer sha256:0123abcd"),
            (
                "tensor input_0 has shape [1, 3, 224]",
                "tensor input_17 has shape [8, 3, 640]",
            ),
        ];
        for (one, other) in same {
            assert_eq!(of(one), of(other), "{} / {}", general(one), general(other));
        }
    }

    #[test]
    fn another_failure_has_another_fingerprint() {
        let details = [
            "out of memory",
            "no such layer",
            "connect: refused",
            "bad face",
            "",
        ];
        for (i, one) in details.iter().enumerate() {
            for other in &details[i + 1..] {
                assert_ne!(of(one), of(other));
            }
        }
        let died = fingerprint(FailureKind::RuntimeDied, Some(500), "out of memory");
        assert_ne!(died, of("out of memory"));
        let other = fingerprint(FailureKind::RuntimeFailed, Some(503), "out of memory");
        assert_ne!(other, of("out of memory"));
    }

    #[test]
    fn is_the_same_in_every_version() {
        assert_eq!(
            general("Out of memory: 5 GiB (gpu-0)"),
            "out of memory # gib gpu.#"
        );
        assert_eq!(of("out of memory").to_string(), "492c4df941fe0b86");
    }

    proptest! {
        #[test]
        fn numbers_never_matter(one in any::<u64>(), other in any::<u64>()) {
            let detail = |n: u64| format!("worker-{n} lost {n} of {n}.5 at {n:#x}: pid={n}");
            prop_assert_eq!(of(&detail(one)), of(&detail(other)));
        }

        #[test]
        fn any_text_has_one(text in ".*") {
            prop_assert_eq!(of(&text), of(&text.to_lowercase()));
        }
    }
}
