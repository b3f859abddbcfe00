//! A request to the user's own instance, by each of the ways to name it.

use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reply};
use thermocline_support::system::Setup;

#[tokio::test]
async fn a_request_is_answered_by_the_dedicated_backend() {
    let backend = FakeBackend::start(Reply::ok("hello")).await;
    let system = Setup::new().start().await;
    let spec = json!({ "name": "m", "tiers": { "dedicated": { "url": backend.url() } } });
    system.admin.deploy(spec).await;
    let mut client = system.client().await;
    let response = client
        .request("POST", "/d/m/x")
        .body("hi")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.body, "hello");
    let seen = backend.seen();
    assert_eq!(seen.count("/x"), 1);
}
