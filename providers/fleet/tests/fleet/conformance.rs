//! The clauses that every adapter must pass.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use thermocline_broker::{Limits, MemoryBroker};
use thermocline_clock::Clock;
use thermocline_fleet::{Fleet, Settings};
use thermocline_provider::conformance::{Setup, run};

#[tokio::test]
async fn the_fleet_conforms() {
    let clock = Clock::system();
    let broker = Arc::new(MemoryBroker::new(clock.clone(), &Limits::default()));
    let settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        ..Settings::default()
    };
    let fleet = Fleet::connect(settings, broker, clock).await.unwrap();
    let request = json!({
        "owner": "o", "deployment": "m", "tier": "serverless", "image": "i", "port": 8000,
    });
    let setup = Setup {
        poll_every: Duration::from_millis(10),
        ..Setup::new(serde_json::from_value(request).unwrap())
    };
    let report = run(&fleet, &setup).await;
    assert!(report.passed(), "{report}");
}
