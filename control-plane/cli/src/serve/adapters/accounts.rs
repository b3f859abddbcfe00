use std::collections::HashMap;
use std::sync::Arc;

/// One account for each key and API, however many providers use it: its limits
/// are one.
pub(super) struct Accounts<A>(HashMap<(String, String), Arc<A>>);

impl<A> Default for Accounts<A> {
    fn default() -> Self {
        Accounts(HashMap::new())
    }
}

impl<A> Accounts<A> {
    /// The account of `key` at `url`, made by `open` where it is new.
    ///
    /// # Errors
    /// `open`'s.
    pub(super) fn get<E>(
        &mut self,
        key: String,
        url: &str,
        open: impl FnOnce(String) -> Result<A, E>,
    ) -> Result<Arc<A>, E> {
        let place = (key.clone(), url.to_owned());
        if let Some(account) = self.0.get(&place) {
            return Ok(account.clone());
        }
        let account = Arc::new(open(key)?);
        self.0.insert(place, account.clone());
        Ok(account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_at_one_api_is_one_account() {
        let mut accounts = Accounts::default();
        let mut get = |key: &str, url: &str| {
            let account = accounts.get(key.to_owned(), url, Ok::<String, ()>);
            account.unwrap()
        };
        let first = get("k", "u");
        assert!(Arc::ptr_eq(&first, &get("k", "u")));
        assert!(!Arc::ptr_eq(&first, &get("k", "v")));
        assert!(!Arc::ptr_eq(&first, &get("l", "u")));
    }
}
