use serde::{Deserialize, Serialize};
use thermocline_provider::Address;
use thermocline_wire::fleet::DEPLOYMENT_HEADER;

use super::{SecretError, Secrets};

/// Shorter values of headers are no tokens, and a part of too many words.
const SHORTEST_TOKEN: usize = 16;

/// An address as the store has it: its headers, which may hold tokens, are
/// sealed. Those of earlier versions stand beside the URL.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    address: Address,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

impl Secrets {
    /// `address` of an instance as the store may keep it; makes the key where
    /// there are headers and none is there yet.
    ///
    /// # Errors
    /// [`SecretError::BadKey`] and [`SecretError::KeyFile`].
    pub(crate) fn seal_address(
        &self,
        instance: &str,
        address: &Address,
    ) -> Result<String, SecretError> {
        let mut written = Written {
            address: address.clone(),
            sealed: None,
        };
        let headers = std::mem::take(&mut written.address.headers);
        if !headers.is_empty() {
            let text = serde_json::json!(headers).to_string();
            written.sealed = Some(self.seal_text(&bound_to(instance), &text)?);
        }
        Ok(serde_json::json!(written).to_string())
    }

    /// The address that was written down for an instance; its tokens are hidden
    /// from now on. `None` where it cannot be read, as under another key.
    pub(crate) fn open_address(&self, instance: &str, written: &str) -> Option<Address> {
        let Written {
            mut address,
            sealed,
        } = serde_json::from_str(written).ok()?;
        if let Some(sealed) = sealed {
            let headers = self.open_text(&bound_to(instance), &sealed)?;
            address.headers = serde_json::from_str(&headers).ok()?;
        }
        self.hide_tokens(&address);
        Some(address)
    }

    /// Hides what the headers of an address hold; the name of a deployment is
    /// nothing to hide.
    pub(crate) fn hide_tokens(&self, address: &Address) {
        let headers = address.headers.iter();
        headers
            .filter(|(name, value)| *name != DEPLOYMENT_HEADER && value.len() >= SHORTEST_TOKEN)
            .for_each(|(_, value)| self.redaction.hide(value));
    }
}

/// What the headers are authenticated with: those of another row do not open.
/// No secret has such a name.
fn bound_to(instance: &str) -> String {
    format!("instance/{instance}")
}
