//! The backend seen through the raw client.

mod bodies;
mod endings;
mod gauges;
mod scripts;
mod upgrades;

use super::*;
use crate::client::{Ended, RawClient, Response, pattern_sha256};

async fn started(script: impl Into<Script>) -> (FakeBackend, RawClient) {
    let backend = FakeBackend::start(script).await;
    let client = RawClient::connect(backend.address()).await.unwrap();
    (backend, client)
}

async fn get(client: &mut RawClient, path: &str) -> Response {
    client.request("GET", path).send().await.unwrap()
}
