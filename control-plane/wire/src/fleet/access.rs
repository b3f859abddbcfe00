use serde::{Deserialize, Serialize};

/// What a worker's token lets it do at a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The deployments that it may pull; see [`allows`].
    pub may_pull: Vec<String>,
}

/// Whether `patterns` name `deployment`: each is its name, or the beginning of
/// one before a `*`.
pub fn allows(patterns: &[String], deployment: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => deployment.starts_with(beginning),
            None => pattern == deployment,
        })
}
