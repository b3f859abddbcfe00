//! A plugin's reply, read within its bounds.

use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use thermocline_provider::ProviderError;

use crate::error::{malformed, unanswered};

/// The longest body that is read, bytes.
const LONGEST_BODY: usize = 4 << 20;

/// A whole reply.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Sends `request` and reads what comes back.
    pub(crate) async fn to(request: RequestBuilder) -> Result<Self, ProviderError> {
        let mut response = request.send().await.map_err(|error| unanswered(&error))?;
        Ok(Reply {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            body: read(response).await?,
        })
    }

    /// The body as the protocol's `T`.
    ///
    /// # Errors
    /// Which field is wrong, and nothing of what it holds.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        if self.body.is_empty() {
            return Err(malformed("is empty"));
        }
        let mut body = serde_json::Deserializer::from_slice(&self.body);
        serde_path_to_error::deserialize(&mut body).map_err(|error| {
            malformed(&match field(&error) {
                Some(field) => format!("is not of the protocol: {field}"),
                None => "is not of the protocol".to_owned(),
            })
        })
    }
}

/// The longest name of a field that is repeated, bytes.
const LONGEST_FIELD: usize = 100;

/// What is wrong where, by the protocol's own words.
fn field(error: &serde_path_to_error::Error<serde_json::Error>) -> Option<String> {
    let path = match error.path().to_string() {
        path if path == "." => String::new(),
        path => format!("{path}."),
    };
    let said = error.inner().to_string();
    // The name is the protocol's; a wrong value is the plugin's, and is not repeated.
    let missing = said.strip_prefix("missing field `");
    let field = match missing.and_then(|rest| rest.split_once('`')) {
        Some((name, _)) => format!("{path}{name} is missing"),
        None if path.is_empty() => return None,
        None => format!("{} is wrong", path.trim_end_matches('.')),
    };
    (field.len() <= LONGEST_FIELD && !field.contains(char::is_control)).then_some(field)
}

async fn read(mut response: Response) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(&error))? {
        if body.len() + chunk.len() > LONGEST_BODY {
            return Err(malformed("is too large"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
