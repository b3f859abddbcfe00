//! Where this crate reads time: a measuring tool wants the machine's own.

use std::time::{Duration, Instant, SystemTime};

/// The monotonic time.
#[allow(clippy::disallowed_methods)] // the bench measures real time
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since 1970: comparable between processes of one machine.
#[allow(clippy::disallowed_methods)] // the bench measures real time
pub(crate) fn epoch_nanos() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, whole_nanos)
}

/// Waits for `length` of real time.
#[allow(clippy::disallowed_methods)] // the bench measures real time
pub(crate) async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}

/// A duration in nanoseconds; anything past 584 years is as good as that.
pub(crate) fn whole_nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
