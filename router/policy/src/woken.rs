//! What a request tells that may have waited for a worker of serverless.

use std::time::Duration;

/// A request that takes this many times the usual has waited for a worker.
const CLEARLY_LONGER: u32 = 2;

/// What the time of a request means that found no worker awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// One was up after all: all of it was service.
    Warm(Duration),
    /// So much of it was a cold start.
    Cold(Duration),
}

/// What a request means that found nothing awake and `took` so long, where one
/// that finds a worker takes the `usual` time. No provider tells the two apart.
pub fn woken(took: Duration, usual: Duration) -> Woken {
    match took > usual * CLEARLY_LONGER {
        true => Woken::Cold(took.saturating_sub(usual)),
        false => Woken::Warm(took),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_clearly_took_longer_was_a_cold_start() {
        let seconds = Duration::from_secs;
        assert_eq!(woken(seconds(33), seconds(3)), Woken::Cold(seconds(30)));
        assert_eq!(woken(seconds(6), seconds(3)), Woken::Warm(seconds(6)));
        assert_eq!(
            woken(seconds(1), Duration::ZERO),
            Woken::Cold(seconds(1)),
            "of work that takes no time, all is"
        );
    }
}
