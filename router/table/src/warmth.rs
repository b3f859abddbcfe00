use thermocline_policy::{Moment, Tier};

use crate::Deployment;

impl Deployment {
    /// Whether a request that `tier` gets at `now` wakes nothing: an instance takes
    /// work there, and behind a serverless endpoint there are workers.
    ///
    /// No provider tells of these; they are there while they work, and for the
    /// tier's idle timeout afterwards.
    pub fn is_warm(&self, tier: Tier, now: Moment) -> bool {
        self.capacity.load().serves(tier) && (tier != Tier::Serverless || self.has_workers(now))
    }

    fn has_workers(&self, now: Moment) -> bool {
        let traffic = &self.traffic[Tier::Serverless];
        let timeout = self.config.load().spec.idle_timeout(Tier::Serverless);
        let worked = traffic.last_end() > Moment::ORIGIN && self.current().is_some();
        let idle = now.since(traffic.last_end());
        traffic.in_flight() > 0 || (worked && idle < timeout.unwrap_or_default())
    }
}
