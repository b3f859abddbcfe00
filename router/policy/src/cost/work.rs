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

    fn known(self) -> Option<Duration> {
        (self.count > 0).then_some(self.mean)
    }
}
