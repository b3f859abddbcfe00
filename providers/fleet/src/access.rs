//! Who may pull what.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use thermocline_wire::fleet::{self as wire, allows};

/// A worker's credential: what its token may pull.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name in the configuration.
    pub name: String,
    token_sha256: [u8; 32],
    may_pull: Vec<String>,
}

impl Account {
    /// The account of whoever has `token`; `may_pull` are names of deployments,
    /// or beginnings of names before a `*`.
    pub fn new(name: impl Into<String>, token: &str, may_pull: Vec<String>) -> Self {
        Account {
            name: name.into(),
            token_sha256: Sha256::digest(token.as_bytes()).into(),
            may_pull,
        }
    }

    /// What it may do.
    pub(crate) fn access(&self) -> wire::Access {
        wire::Access {
            may_pull: self.may_pull.clone(),
        }
    }

    /// Whether it may pull `deployment`.
    pub(crate) fn may_pull(&self, deployment: &str) -> bool {
        allows(&self.may_pull, deployment)
    }
}

/// Every account.
pub(crate) struct Access(Vec<Account>);

impl Access {
    pub(crate) fn new(accounts: Vec<Account>) -> Self {
        Access(accounts)
    }

    /// Whose bearer token the headers carry. Takes as long for every token.
    pub(crate) fn account(&self, headers: &HeaderMap) -> Option<&Account> {
        let given = headers.get(AUTHORIZATION)?.as_bytes();
        let token = given.strip_prefix(b"Bearer ")?;
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut found = u64::MAX;
        for (place, account) in (0..).zip(&self.0) {
            let same: Choice = account.token_sha256.ct_eq(&digest);
            found.conditional_assign(&place, same);
        }
        self.0.get(usize::try_from(found).ok()?)
    }
}

/// 32 hexadecimal digits that nobody can guess.
pub(crate) fn secret() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).unwrap_or_else(|_| std::process::abort());
    hex(&bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(token: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        headers
    }

    #[test]
    fn a_token_is_bound_to_what_it_may_pull() {
        let access = Access::new(vec![
            Account::new("all", "one", vec!["*".into()]),
            Account::new("team", "two", vec!["team-*".into(), "shared".into()]),
        ]);
        let team = access.account(&with("two")).unwrap();
        assert_eq!(team.name, "team");
        assert!(team.may_pull("team-a") && team.may_pull("shared"));
        assert!(!team.may_pull("other") && !team.may_pull("shared-too"));
        assert!(access.account(&with("one")).unwrap().may_pull("other"));
        assert!(access.account(&with("three")).is_none());
        assert!(access.account(&HeaderMap::new()).is_none());
    }
}
