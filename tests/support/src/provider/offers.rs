use std::collections::BTreeMap;

use thermocline_policy::Tier;
use thermocline_provider::{InstanceRequest, Offer, OfferQuery};

/// What is for sale, by tier.
#[derive(Debug)]
pub(super) struct Offers(BTreeMap<Tier, Vec<Offer>>);

impl Offers {
    /// One offer in each tier in which instances are created.
    pub(super) fn usual() -> Self {
        let one = |tier| (tier, vec![usual(tier)]);
        Offers(Tier::CREATED.into_iter().map(one).collect())
    }

    pub(super) fn set(&mut self, tier: Tier, offers: Vec<Offer>) {
        self.0.insert(tier, offers);
    }

    /// What satisfies `query`.
    pub(super) fn matching(&self, query: OfferQuery) -> Vec<Offer> {
        let offers = self.0.get(&query.tier).into_iter().flatten();
        let large_enough = offers.filter(|offer| offer.vram_mib >= query.vram_mib);
        large_enough.cloned().collect()
    }

    /// The hourly price of what `request` gets.
    pub(super) fn usd_per_hour(&self, request: &InstanceRequest) -> Option<f64> {
        let mut offers = self.0.get(&request.tier).into_iter().flatten();
        let wanted = |offer: &&Offer| request.offer.as_ref().is_none_or(|id| *id == offer.id);
        offers.find(wanted)?.usd_per_hour
    }
}

fn usual(tier: Tier) -> Offer {
    let (usd_per_hour, usd_per_second) = match tier {
        Tier::Pod => (Some(1.2), None),
        Tier::Serverless => (None, Some(0.000_6)),
        Tier::Local | Tier::Dedicated => (Some(0.0), None),
    };
    Offer {
        id: format!("fake-{tier}"),
        ..offer(usd_per_hour, usd_per_second)
    }
}

/// A card of 80 GiB that can be had at these prices.
pub fn offer(usd_per_hour: Option<f64>, usd_per_second: Option<f64>) -> Offer {
    Offer {
        id: "fake".to_owned(),
        gpu: "Fake 80".to_owned(),
        vram_mib: 80 << 10,
        usd_per_hour,
        usd_per_second,
        region: "loopback".to_owned(),
        available: true,
    }
}
