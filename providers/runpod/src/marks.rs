//! By what our instances are known again.

use std::collections::BTreeMap;

use serde_json::Value;
use thermocline_provider::{InstanceRequest, ProviderError};

use crate::error::unavailable;

const OWNER: &str = "THERMOCLINE_OWNER";
const KEY: &str = "THERMOCLINE_KEY";
const DEPLOYMENT: &str = "THERMOCLINE_DEPLOYMENT";
const WORKERS: &str = "THERMOCLINE_MAX_WORKERS";
/// The secret that an image may ask of every request.
const SECRET: &str = "THERMOCLINE_BACKEND_SECRET";

/// The marks of one instance, as its environment holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) owner: String,
    pub(crate) key: String,
    pub(crate) secret: String,
    /// The most workers that an endpoint is to have.
    pub(crate) workers: Option<u32>,
}

impl Marks {
    /// The marks in `env`; `None` when it is nobody's of ours.
    pub(crate) fn read(env: &BTreeMap<String, String>) -> Option<Self> {
        Some(Marks {
            owner: env.get(OWNER)?.clone(),
            key: env.get(KEY)?.clone(),
            secret: env.get(SECRET).cloned().unwrap_or_default(),
            workers: env.get(WORKERS).and_then(|text| text.parse().ok()),
        })
    }
}

/// The name of the instance `key` of `owner`.
pub(crate) fn name(owner: &str, key: &str) -> String {
    format!("tc-{owner}-{key}")
}

/// The key in `name`, when it is one of `owner`'s; RunPod may add words of its
/// own, as ` -fb`.
pub(crate) fn key_in<'n>(name: &'n str, owner: &str) -> Option<&'n str> {
    let rest = name.strip_prefix("tc-")?.strip_prefix(owner)?;
    rest.strip_prefix('-')?
        .split(' ')
        .next()
        .filter(|key| !key.is_empty())
}

/// The environment of a new instance: the request's, and the marks.
pub(crate) fn environment(key: &str, request: &InstanceRequest) -> Result<Value, ProviderError> {
    let mut env = request.env.clone();
    let workers = request.max_workers.to_string();
    let secret = secret()?;
    let marks = [
        (OWNER, request.owner.as_str()),
        (KEY, key),
        (DEPLOYMENT, request.deployment.as_str()),
        (WORKERS, &workers),
        (SECRET, &secret),
    ];
    for (name, value) in marks {
        env.insert(name.to_owned(), value.to_owned());
    }
    Ok(serde_json::json!(env))
}

/// 128 random bits in hexadecimal.
fn secret() -> Result<String, ProviderError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| unavailable("this machine gives no random bytes"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_its_key_back_to_its_owner_alone() {
        let name = name("own-er", "01JKEY");
        assert_eq!(key_in(&name, "own-er"), Some("01JKEY"));
        assert_eq!(key_in(&name, "own"), Some("er-01JKEY"));
        assert_eq!(key_in(&name, "other"), None);
        assert_eq!(key_in("tc-own-er-01JKEY -fb", "own-er"), Some("01JKEY"));
        assert_eq!(key_in("tc-own-er-", "own-er"), None);
    }
}
