use std::time::SystemTime;

use thermocline_clock::ManualClock;

use super::*;
use crate::conformance::{self, Subject};

fn limits() -> Limits {
    Limits {
        deliveries: 4,
        queue_idle: Duration::from_secs(60),
        lease: Duration::from_secs(10),
        announcements: 16,
    }
}

struct OnVirtualTime {
    clock: ManualClock,
    broker: MemoryBroker,
    stranger: MemoryBroker,
}

impl OnVirtualTime {
    fn new() -> Self {
        let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        OnVirtualTime {
            broker: MemoryBroker::new(clock.clock(), &limits()),
            stranger: MemoryBroker::new(clock.clock(), &limits()),
            clock,
        }
    }
}

#[async_trait]
impl Subject for OnVirtualTime {
    fn broker(&self) -> &dyn Broker {
        &self.broker
    }

    fn stranger(&self) -> &dyn Broker {
        &self.stranger
    }

    fn limits(&self) -> Limits {
        limits()
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    async fn lose_holders(&self) {
        self.pass(limits().lease).await;
    }
}

#[tokio::test]
async fn keeps_every_clause() {
    let report = conformance::run(&OnVirtualTime::new()).await;
    assert!(report.passed(), "{report}");
}
