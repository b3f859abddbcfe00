//! Which loads a run goes through.

use std::fmt;

use crate::kind::Kind;

const KINDS: [Kind; 5] = [
    Kind::Post(200),
    Kind::Upload(1 << 20),
    Kind::Upload(4 << 20),
    Kind::Burst,
    Kind::Paced,
];
const CONCURRENCY: [usize; 3] = [1, 64, 512];

/// One sort of request at one number of connections; written `post-200@64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) kind: Kind,
    pub(crate) connections: usize,
}

impl Scenario {
    /// Every kind at every concurrency.
    pub(crate) fn all() -> Vec<Scenario> {
        let each = |kind| CONCURRENCY.map(|connections| Scenario { kind, connections });
        KINDS.into_iter().flat_map(each).collect()
    }

    /// The few that show most, for a run of less than a minute.
    pub(crate) fn quick() -> Vec<Scenario> {
        let single = Scenario {
            kind: Kind::Post(200),
            connections: 1,
        };
        let kinds = [
            Kind::Post(200),
            Kind::Upload(1 << 20),
            Kind::Burst,
            Kind::Paced,
        ];
        let busy = kinds.map(|kind| Scenario {
            kind,
            connections: 64,
        });
        std::iter::once(single).chain(busy).collect()
    }

    /// Whether one of `patterns` begins this one's name; no patterns take all.
    pub(crate) fn matches(&self, patterns: &[String]) -> bool {
        let name = self.to_string();
        let begins = |pattern: &String| match pattern.strip_prefix('@') {
            Some(connections) => self.connections.to_string() == connections,
            None if pattern.contains('@') => name == *pattern,
            None => name.starts_with(pattern.as_str()),
        };
        patterns.is_empty() || patterns.iter().any(begins)
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kind, self.connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(pattern: &str) -> Vec<String> {
        let patterns = [pattern.to_owned()];
        let all = Scenario::all().into_iter();
        all.filter(|scenario| scenario.matches(&patterns))
            .map(|s| s.to_string())
            .collect()
    }

    #[test]
    fn a_filter_is_the_beginning_of_a_name_or_a_concurrency() {
        assert_eq!(
            chosen("post"),
            ["post-200@1", "post-200@64", "post-200@512"]
        );
        assert_eq!(chosen("upload-4m@64"), ["upload-4m@64"]);
        assert_eq!(chosen("@1").len(), 5);
        assert!(chosen("nothing").is_empty());
    }

    #[test]
    fn no_filter_takes_all() {
        assert!(Scenario::all().iter().all(|scenario| scenario.matches(&[])));
    }
}
