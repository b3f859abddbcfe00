use std::collections::BTreeMap;

use crate::{InstanceRequest, ProviderError, ProviderErrorKind};

const OWNER: &str = "THERMOCLINE_OWNER";
const KEY: &str = "THERMOCLINE_KEY";
const DEPLOYMENT: &str = "THERMOCLINE_DEPLOYMENT";
/// The secret that an image may ask of every request.
const SECRET: &str = "THERMOCLINE_BACKEND_SECRET";

/// The header in which an image may expect its secret.
pub const SECRET_HEADER: &str = "x-thermocline-backend-secret";

/// The marks of one instance, as its environment holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The installation that pays.
    pub owner: String,
    /// Our instance id.
    pub key: String,
    /// What requests to it carry in [`SECRET_HEADER`]; empty when it has none.
    pub secret: String,
}

impl Marks {
    /// The marks of the instance `key` that `request` asks for, with a secret of
    /// 128 random bits.
    ///
    /// # Errors
    /// `host_misconfigured` when this machine gives no random bytes.
    pub fn new(key: &str, request: &InstanceRequest) -> Result<Self, ProviderError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| {
            let detail = "this machine gives no random bytes";
            ProviderError::new(ProviderErrorKind::HostMisconfigured, detail)
        })?;
        Ok(Marks {
            owner: request.owner.clone(),
            key: key.to_owned(),
            secret: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// The marks in `env`; `None` when it is nobody's of ours.
    pub fn read(env: &BTreeMap<String, String>) -> Option<Self> {
        Some(Marks {
            owner: env.get(OWNER)?.clone(),
            key: env.get(KEY)?.clone(),
            secret: env.get(SECRET).cloned().unwrap_or_default(),
        })
    }

    /// The environment of a new instance: the request's, and these marks.
    pub fn environment(&self, request: &InstanceRequest) -> BTreeMap<String, String> {
        let mut env = request.env.clone();
        let marks = [
            (OWNER, self.owner.clone()),
            (KEY, self.key.clone()),
            (DEPLOYMENT, request.deployment.clone()),
            (SECRET, self.secret.clone()),
        ];
        env.extend(
            marks
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        env
    }
}

/// The name of the instance `key` of `owner`.
pub fn name(owner: &str, key: &str) -> String {
    format!("tc-{owner}-{key}")
}

/// The key in `name`, when it is one of `owner`'s; a cloud may add words of
/// its own, as ` -fb`.
pub fn key_in<'n>(name: &'n str, owner: &str) -> Option<&'n str> {
    let rest = name.strip_prefix("tc-")?.strip_prefix(owner)?;
    rest.strip_prefix('-')?
        .split(' ')
        .next()
        .filter(|key| !key.is_empty())
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

    #[test]
    fn marks_are_read_back_from_the_environment_and_win_over_the_request() {
        let request = serde_json::json!({
            "owner": "o", "deployment": "d", "tier": "serverless", "image": "i", "port": 80,
            "max_workers": 3, "env": { "STEPS": "30", "THERMOCLINE_OWNER": "somebody" },
        });
        let request = serde_json::from_value(request).unwrap();
        let marks = Marks::new("k", &request).unwrap();
        let env = marks.environment(&request);
        assert_eq!(env["STEPS"], "30");
        assert_eq!(Marks::read(&env), Some(marks.clone()));
        assert_ne!(Marks::new("k", &request).unwrap().secret, marks.secret);
        assert_eq!(Marks::read(&BTreeMap::new()), None);
    }
}
