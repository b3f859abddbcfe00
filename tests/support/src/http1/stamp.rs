use std::time::Instant;

/// The real time: sockets are real, so what is seen on them is stamped with it.
#[allow(clippy::disallowed_methods)] // a test double observes the machine's time
pub(crate) fn now() -> Instant {
    Instant::now()
}
