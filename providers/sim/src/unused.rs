use std::time::Duration;

use crate::cloud::{Cloud, Use};

/// How long a cloud stays that has neither instance nor call.
const LIMIT: Duration = Duration::from_secs(600);

/// Ends when nobody has used the cloud for ten minutes; it is retired then.
pub(crate) async fn unused(cloud: &Cloud) {
    loop {
        match cloud.retire_after(LIMIT) {
            Use::Held => cloud.emptied.notified().await,
            Use::Recent(end) => cloud.clock.sleep_until(end).await,
            Use::Retired => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use serde_json::json;
    use thermocline_clock::ManualClock;
    use thermocline_wire::provider::InstanceRequest;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::settings::Settings;

    const MINUTE: Duration = Duration::from_secs(60);

    struct Watched {
        time: ManualClock,
        cloud: Arc<Cloud>,
        end: JoinHandle<()>,
    }

    fn request() -> InstanceRequest {
        let request = json!({
            "owner": "o", "deployment": "d", "tier": "serverless", "image": "i", "port": 80
        });
        serde_json::from_value(request).unwrap()
    }

    impl Watched {
        fn new() -> Self {
            let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
            let cloud = Cloud::new(time.clock(), Settings::default(), "sim".into());
            let cloud = Arc::new(cloud);
            let watched = cloud.clone();
            let end = tokio::spawn(async move { unused(&watched).await });
            Watched { time, cloud, end }
        }

        /// Whether it has ended after so many minutes more.
        async fn ended_after(&self, minutes: u32) -> bool {
            for step in [Duration::ZERO, MINUTE * minutes] {
                self.time.advance(step);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            }
            self.end.is_finished()
        }
    }

    #[tokio::test]
    async fn a_call_is_a_use() {
        let watched = Watched::new();
        assert!(!watched.ended_after(9).await);
        watched.cloud.note_call();
        assert!(!watched.ended_after(9).await);
        assert!(watched.ended_after(1).await);
    }

    #[tokio::test]
    async fn an_instance_is_a_use_as_long_as_it_exists() {
        let watched = Watched::new();
        let id = watched.cloud.create("k", request()).unwrap().instance.id;
        assert!(!watched.ended_after(600).await);
        watched.cloud.forget(&id);
        assert!(!watched.ended_after(9).await);
        assert!(watched.ended_after(1).await);
    }

    #[tokio::test]
    async fn a_cloud_that_ends_takes_no_instance_with_it() {
        let watched = Watched::new();
        assert!(watched.ended_after(10).await);
        let refused = watched.cloud.create("k", request()).err().unwrap();
        assert_eq!(refused.code, "unavailable");
    }
}
