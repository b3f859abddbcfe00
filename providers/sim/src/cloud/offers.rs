use thermocline_policy::Tier;
use thermocline_wire::provider::Offer;

use super::Cloud;

/// The memory of the one GPU that is for sale, MiB; more is sold where more is asked for.
const VRAM_MIB: u64 = 24_576;

impl Cloud {
    /// What is for sale in `tier`, with room for `vram_mib`.
    pub(crate) fn offers(&self, tier: Tier, vram_mib: u64) -> Vec<Offer> {
        let settings = self.settings.get();
        let state = self.lock();
        let full = tier == Tier::Pod && state.pods() >= settings.capacity as usize;
        let offer = offer_id(tier).map(|id| Offer {
            id: id.to_owned(),
            gpu: "simulated".to_owned(),
            vram_mib: vram_mib.max(VRAM_MIB),
            usd_per_hour: (tier == Tier::Pod).then_some(settings.usd_per_hour),
            usd_per_second: (tier == Tier::Serverless).then_some(settings.usd_per_second),
            region: "loopback".to_owned(),
            available: !full && !state.faults.no_capacity,
        });
        offer.into_iter().collect()
    }
}

/// The name of the one offer in `tier`.
pub(super) const fn offer_id(tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::Serverless => Some("sim-serverless"),
        Tier::Pod => Some("sim-pod"),
        Tier::Dedicated | Tier::Local => None,
    }
}
