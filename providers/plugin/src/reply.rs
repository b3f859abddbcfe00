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
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        if self.body.is_empty() {
            return Err(malformed("is empty"));
        }
        serde_json::from_slice(&self.body).map_err(|_| malformed("is not of the protocol"))
    }
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
