use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};

use super::{SecretError, SecretKey};

/// How a sealed value begins: AES-256-GCM, the nonce, the text with its tag.
const VERSION: u8 = 1;

/// Seals values with a fresh nonce each. The name is authenticated with the
/// value: a row that was renamed or swapped does not open.
pub(super) struct Sealer(RandomizedNonceKey);

impl Sealer {
    pub(super) fn new(key: &SecretKey) -> Result<Self, SecretError> {
        RandomizedNonceKey::new(&AES_256_GCM, key.bytes())
            .map(Sealer)
            .map_err(|_| SecretError::BadKey)
    }

    pub(super) fn seal(&self, name: &str, value: &str) -> Result<Vec<u8>, SecretError> {
        let mut text = value.as_bytes().to_vec();
        let nonce = self
            .0
            .seal_in_place_append_tag(Aad::from(name), &mut text)
            .map_err(|_| SecretError::BadKey)?;
        let mut sealed = vec![VERSION];
        sealed.extend_from_slice(nonce.as_ref());
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// The value; `None` under another key or name, and of a changed text.
    pub(super) fn open(&self, name: &str, sealed: &[u8]) -> Option<String> {
        let (&VERSION, rest) = sealed.split_first()? else {
            return None;
        };
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>()?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let value = self.0.open_in_place(nonce, Aad::from(name), &mut text);
        String::from_utf8(value.ok()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer() -> Sealer {
        Sealer::new(&SecretKey::generate()).unwrap()
    }

    #[test]
    fn only_the_same_key_and_name_open_it() {
        let ours = sealer();
        let sealed = ours.seal("hf", "s3cret").unwrap();
        assert_eq!(ours.open("hf", &sealed).as_deref(), Some("s3cret"));
        assert_eq!(ours.open("other", &sealed), None);
        assert_eq!(sealer().open("hf", &sealed), None);
    }

    #[test]
    fn any_changed_byte_and_any_missing_one_is_noticed() {
        let ours = sealer();
        let sealed = ours.seal("hf", "s3cret").unwrap();
        for i in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[i] ^= 1;
            assert_eq!(ours.open("hf", &changed), None, "byte {i}");
            assert_eq!(ours.open("hf", &sealed[..i]), None, "cut at {i}");
        }
    }

    #[test]
    fn the_same_value_never_looks_the_same() {
        let ours = sealer();
        let (a, b) = (ours.seal("hf", "v").unwrap(), ours.seal("hf", "v").unwrap());
        assert_ne!(a, b);
    }
}
