use std::time::Duration;

/// How long things take, as measured or by documented prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Mean time that a serverless worker has a request in hand.
    pub service: Duration,
    /// Mean time that a pod has a request in hand.
    pub service_on_pod: Duration,
    /// From the wish for a serverless worker until it takes work.
    pub cold_start: Duration,
    /// The share of a cold start that is billed, 0 to 1.
    pub billed_cold_share: f64,
    /// From the wish for a pod until it takes work.
    pub boot: Duration,
    /// How long a serverless worker stays, billed, without work.
    pub serverless_idle: Duration,
    /// Requests that one worker or pod has in hand at a time, 1 or more.
    pub concurrency: u32,
}

impl Default for Work {
    /// The priors: an inference of 3 s in batches of 16, a container that is
    /// cold for 30 s, a machine that boots in 150 s.
    fn default() -> Self {
        Work {
            service: Duration::from_secs(3),
            service_on_pod: Duration::from_secs(3),
            cold_start: Duration::from_secs(30),
            billed_cold_share: 1.0,
            boot: Duration::from_secs(150),
            serverless_idle: Duration::from_secs(5),
            concurrency: 16,
        }
    }
}

/// A time that moved by a smaller share than this is no news.
const NEWS: f64 = 0.05;

impl Work {
    /// With the mean service times that were measured: each tier's own, else that
    /// of `any` tier; the prior where there is none.
    #[must_use]
    pub fn with_services(self, serverless: Mean, pod: Mean, any: Mean) -> Work {
        let of = |own: Mean, prior| own.known().or(any.known()).unwrap_or(prior);
        Work {
            service: of(serverless, self.service),
            service_on_pod: of(pod, self.service_on_pod),
            ..self
        }
    }

    /// How long a pod has a request in hand that serverless would have for `service`.
    pub fn on_pod(&self, service: Duration) -> Duration {
        match self.service_on_pod == self.service || self.service.is_zero() {
            true => service,
            false => {
                service.mul_f64(self.service_on_pod.as_secs_f64() / self.service.as_secs_f64())
            }
        }
    }

    /// With the mean of `count` cold starts; the prior where there is none.
    #[must_use]
    pub fn with_cold_start(self, mean: Duration, count: u64) -> Work {
        let cold_start = if count > 0 { mean } else { self.cold_start };
        Work { cold_start, ..self }
    }

    /// With the mean times of requests that found serverless asleep: what exceeds the
    /// service time is the cold start. Where no service time was measured, on
    /// `serverless` or on the `pod` itself, theirs is the most that it may be.
    #[must_use]
    pub fn with_woken(self, woken: Mean, serverless: Mean, pod: Mean) -> Work {
        let Some(whole) = woken.known() else {
            return self;
        };
        let known = |time: Duration, own: Mean| match own.known().or(serverless.known()) {
            Some(_) => time,
            None => time.min(whole),
        };
        let service = known(self.service, serverless);
        Work {
            service,
            service_on_pod: known(self.service_on_pod, pod),
            cold_start: whole.saturating_sub(service),
            ..self
        }
    }

    /// With the mean of `count` boots; the prior where there is none.
    #[must_use]
    pub fn with_boot(self, mean: Duration, count: u64) -> Work {
        let boot = if count > 0 { mean } else { self.boot };
        Work { boot, ..self }
    }

    /// Whether `other` says something else that matters: a time that moved by
    /// more than 5 %, or anything that a person has set.
    pub fn is_news_to(&self, other: &Work) -> bool {
        let moved = |now: Duration, then: Duration| {
            now.abs_diff(then).as_secs_f64() > NEWS * then.as_secs_f64()
        };
        moved(self.service, other.service)
            || moved(self.service_on_pod, other.service_on_pod)
            || moved(self.cold_start, other.cold_start)
            || moved(self.boot, other.boot)
            || self.serverless_idle != other.serverless_idle
            || self.concurrency != other.concurrency
            || self.billed_cold_share != other.billed_cold_share
    }
}

/// A mean of durations, and how many they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mean {
    /// How many.
    pub count: u64,
    /// Their mean; nothing is known where there were none.
    pub mean: Duration,
}

impl Mean {
    /// Of durations that sum up to `sum`.
    pub fn of(sum: Duration, count: u64) -> Mean {
        let mean = Duration::from_secs_f64(sum.as_secs_f64() / count.max(1) as f64);
        Mean { count, mean }
    }

    pub(super) fn known(self) -> Option<Duration> {
        (self.count > 0).then_some(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Mean = Mean {
        count: 0,
        mean: Duration::ZERO,
    };

    fn mean(millis: u64) -> Mean {
        Mean::of(Duration::from_millis(millis), 1)
    }

    fn times(serverless: Mean, pod: Mean, woken: Mean) -> [u128; 3] {
        let any = if pod.count > 0 { pod } else { serverless };
        let work = Work::default().with_services(serverless, pod, any);
        let work = work.with_woken(woken, serverless, pod);
        [work.service, work.cold_start, work.service_on_pod].map(|time| time.as_millis())
    }

    /// A worker that starts in 1 s and works for 0.1 s.
    #[test]
    fn what_a_woken_request_takes_beyond_its_service_is_the_cold_start() {
        assert_eq!(times(NONE, NONE, NONE), [3_000, 30_000, 3_000], "priors");
        assert_eq!(times(mean(100), NONE, mean(1_100)), [100, 1_000, 100]);
        assert_eq!(
            times(mean(100), NONE, mean(90)),
            [100, 0, 100],
            "never cold"
        );
        assert_eq!(times(NONE, mean(100), mean(1_100)), [100, 1_000, 100]);
        // Nobody knows how the time divides; but it is no more than that.
        assert_eq!(times(NONE, NONE, mean(1_100)), [1_100, 0, 1_100]);
        assert_eq!(times(NONE, NONE, mean(33_000)), [3_000, 30_000, 3_000]);
        assert_eq!(times(NONE, mean(2_000), mean(1_100)), [1_100, 0, 2_000]);
    }
}
