//! The admin token: made once, shown once, kept as a hash.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use thermocline_store::{Store, StoreError};
use ulid::Ulid;

/// What the server checks bearer tokens against.
#[derive(Debug, Clone)]
pub struct AdminToken {
    hash: [u8; 32],
    /// The token in clear, when it was made just now: to be shown once.
    pub fresh: Option<String>,
}

impl AdminToken {
    /// The token set by `given`, or the stored one, or a new one.
    ///
    /// # Errors
    /// The store's.
    pub async fn load(store: &Store, given: Option<&str>) -> Result<Self, StoreError> {
        if let Some(token) = given {
            let hash = digest(token);
            store.set_admin_token_hash(&hash).await?;
            return Ok(AdminToken { hash, fresh: None });
        }
        if let Some(hash) = store.admin_token_hash().await? {
            return Ok(AdminToken { hash, fresh: None });
        }
        let token = generate();
        let hash = digest(&token);
        store.init_admin_token_hash(&hash).await?;
        Ok(AdminToken {
            hash,
            fresh: Some(token),
        })
    }

    /// The hash, for those who check.
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }
}

/// Whether `token` is the one of `hash`, in constant time.
pub fn check_token(hash: &[u8; 32], token: &str) -> bool {
    digest(token).ct_eq(hash).into()
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// `tc_<id>_<secret>` with 192 random bits.
fn generate() -> String {
    let mut secret = [0u8; 24];
    // Without randomness of the system there is no safe way on.
    getrandom::fill(&mut secret).unwrap_or_else(|_| std::process::abort());
    let id = Ulid::generate().to_string().to_lowercase();
    format!("tc_{}_{}", &id[16..], URL_SAFE_NO_PAD.encode(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_made_once_and_only_its_hash_is_kept() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let first = AdminToken::load(&store, None).await.unwrap();
        let token = first.fresh.clone().unwrap();
        let again = AdminToken::load(&store, None).await.unwrap();
        assert!(again.fresh.is_none());
        assert!(check_token(&again.hash(), &token));
        assert!(!check_token(&again.hash(), "tc_x_y"));
    }

    #[tokio::test]
    async fn a_given_token_replaces_it() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        AdminToken::load(&store, None).await.unwrap();
        let given = AdminToken::load(&store, Some("s3cret")).await.unwrap();
        assert!(check_token(&given.hash(), "s3cret"));
    }
}
