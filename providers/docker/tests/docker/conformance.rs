use std::time::Duration;

use thermocline_provider::conformance::{Setup, run};

use crate::support::on_docker;

#[tokio::test]
async fn every_clause_of_the_provider_protocol() {
    on_docker(async |ground| {
        let setup = Setup {
            poll_every: Duration::from_millis(50),
            ..Setup::new(ground.request(&[]))
        };
        let report = run(&ground.provider, &setup).await;
        assert!(report.passed(), "{report}");
    })
    .await;
}
