use std::time::Duration;

/// What bounds a broker's queues, whoever keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Deliveries in a row that nobody settled before a message is
    /// [`Burial::Undeliverable`](crate::Burial); far above the attempts that
    /// workers make, since it is for messages that no worker survives.
    pub deliveries: u32,
    /// How long a queue lives that nobody uses; longer than any request's deadline.
    pub queue_idle: Duration,
    /// How long a queue must have been there before what is put into it counts
    /// as safe, where a broker that crashes may forget a queue younger than that.
    pub settling: Duration,
    /// How long a delivery is its holder's unless it is renewed, where the
    /// broker cannot see the holder go.
    pub lease: Duration,
    /// Announcements that are kept for a listener which is slow.
    pub announcements: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            deliveries: 50,
            queue_idle: Duration::from_secs(6 * 60 * 60),
            settling: Duration::from_millis(1_500),
            lease: Duration::from_secs(30),
            announcements: 256,
        }
    }
}
