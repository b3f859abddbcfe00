//! The simulated cloud passes the suite that every adapter must pass, and with
//! it the plugin adapter through which it is seen.

#![allow(clippy::unwrap_used)] // tests

mod common;

use std::time::Duration;

use common::{cloud, quick, request};
use thermocline_policy::Tier;
use thermocline_provider::conformance::{Setup, run};

async fn conforms(tier: Tier) {
    let cloud = cloud(quick()).await;
    let setup = Setup {
        lifetime: Duration::from_secs(2),
        poll_every: Duration::from_millis(20),
        ..Setup::new(request(tier, &[]))
    };
    let report = run(&cloud.provider, &setup).await;
    assert!(report.passed(), "{report}");
}

#[tokio::test]
async fn pods_conform() {
    conforms(Tier::Pod).await;
}

#[tokio::test]
async fn serverless_endpoints_conform() {
    conforms(Tier::Serverless).await;
}
