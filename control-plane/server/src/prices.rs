//! What providers ask for: kept, and asked again now and then, so that nobody
//! who needs a price waits for a provider.

mod quote;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_policy::{Moment, Prices, Spec, Tier, UsdPerSecond};
use thermocline_provider::{Offer, OfferQuery, Provider};
use tokio::sync::Notify;

use crate::control::ControlPlane;
use crate::launch::gpus;
use crate::provider::name_for;
use quote::Quote;

/// How long a start waits for a price that was never asked for.
const PATIENCE: Duration = Duration::from_secs(2);
const MIB: u64 = 1 << 20;

/// The prices that are known.
#[derive(Debug, Default)]
pub(crate) struct Quotes {
    kept: Mutex<HashMap<Wanted, Quote>>,
    /// Told after each question, whatever the answer was.
    answered: Notify,
}

/// What is to be priced.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Wanted {
    provider: String,
    tier: Tier,
    vram_mib: u64,
    gpus: u32,
    gpu: Vec<String>,
}

impl Wanted {
    /// What `tier` of `spec` needs; `None` where it has no such tier.
    fn of(spec: &Spec, tier: Tier) -> Option<Self> {
        Some(Wanted {
            provider: name_for(spec, tier)?.to_owned(),
            tier,
            vram_mib: spec.resources.vram.div_ceil(MIB),
            gpus: spec.resources.gpus,
            gpu: gpus(spec, tier).to_vec(),
        })
    }
}

impl Quotes {
    fn kept(&self) -> MutexGuard<'_, HashMap<Wanted, Quote>> {
        self.kept.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn note(&self, wanted: Wanted, change: impl FnOnce(&mut Quote)) {
        change(self.kept().entry(wanted).or_default());
    }
}

impl ControlPlane {
    /// What the tiers of `spec` cost, as far as it is known now.
    pub(crate) fn prices(self: &Arc<Self>, spec: &Spec, wait: UsdPerSecond) -> Prices {
        Prices {
            serverless: self.price(spec, Tier::Serverless),
            pod: self.price(spec, Tier::Pod),
            wait,
        }
    }

    fn price(self: &Arc<Self>, spec: &Spec, tier: Tier) -> Option<UsdPerSecond> {
        let wanted = Wanted::of(spec, tier)?;
        let mut kept = self.quotes.kept();
        let quote = kept.entry(wanted.clone()).or_default();
        if quote.falls_due(self.clock.now()) {
            let control = self.clone();
            self.runtime
                .spawn(async move { control.ask_price(wanted).await });
        }
        quote.price.or(self.assumed(tier))
    }

    /// The same without asking; the outer `None` = the provider was not asked yet.
    pub(crate) fn known_price(&self, spec: &Spec, tier: Tier) -> Option<Option<UsdPerSecond>> {
        let wanted = Wanted::of(spec, tier)?;
        let quote = self.quotes.kept().get(&wanted).copied();
        let quote = quote.filter(|quote| quote.asked)?;
        Some(quote.price.or(self.assumed(tier)))
    }

    /// Whether a tier of `spec` has no price yet because its provider has not
    /// answered for the first time.
    pub(crate) fn awaits_prices(&self, spec: &Spec) -> bool {
        let kept = self.quotes.kept();
        let unanswered = |wanted: &Wanted| kept.get(wanted).is_none_or(|quote| !quote.asked);
        let tiers = [Tier::Serverless, Tier::Pod].into_iter();
        let mut wanted = tiers.filter_map(|tier| Wanted::of(spec, tier));
        wanted.any(|wanted| self.providers.contains_key(&wanted.provider) && unanswered(&wanted))
    }

    /// The price of `tier`; waited for where its provider has not told one yet.
    pub(crate) async fn asked_price(
        self: &Arc<Self>,
        spec: &Spec,
        tier: Tier,
    ) -> Option<UsdPerSecond> {
        let wanted = Wanted::of(spec, tier)?;
        self.providers.get(&wanted.provider)?;
        let told = async {
            loop {
                let answered = self.quotes.answered.notified();
                self.price(spec, tier); // asks, where nobody does
                if let Some(price) = self.known_price(spec, tier) {
                    return price;
                }
                answered.await;
            }
        };
        let deadline = self.clock.now() + PATIENCE;
        self.clock.timeout_at(deadline, told).await.ok().flatten()
    }

    /// A pod turned out to cost `real`, which is more than budgets hold, whatever
    /// was asked for it. What is gone is not what comes next, so its provider is
    /// asked anew, once; see [`Quote::overrule`].
    pub(crate) fn overrule_price(
        self: &Arc<Self>,
        spec: &Spec,
        tier: Tier,
        real: UsdPerSecond,
        begun: Moment,
    ) {
        if let Some(wanted) = Wanted::of(spec, tier) {
            let now = self.clock.now();
            self.quotes
                .note(wanted, |quote| quote.overrule(real, begun, now));
            self.price(spec, tier);
        }
    }

    /// The price of `tier` stands in the way of a start.
    pub(crate) fn doubt_price(&self, spec: &Spec, tier: Tier) {
        if let Some(wanted) = Wanted::of(spec, tier) {
            self.quotes.note(wanted, Quote::refuses);
        }
    }

    /// When the price of `tier` is asked for again; microseconds since 1970.
    pub(crate) fn price_asked_again(&self, spec: &Spec, tier: Tier) -> Option<i64> {
        let quote = self.quotes.kept().get(&Wanted::of(spec, tier)?).copied()?;
        let left = self.clock.now().until(quote.ask_after).as_micros();
        Some(self.clock.wall_micros() + i64::try_from(left).ok()?)
    }

    async fn ask_price(self: Arc<Self>, wanted: Wanted) {
        let Some(provider) = self.providers.get(&wanted.provider) else {
            return;
        };
        let query = OfferQuery {
            tier: wanted.tier,
            vram_mib: wanted.vram_mib,
            gpus: wanted.gpus,
        };
        match provider.adapter.offers(query).await {
            Ok(offers) => {
                let (price, now) = (cheapest(&offers, &wanted), self.clock.now());
                self.quotes.note(wanted, |quote| quote.learn(price, now));
            }
            Err(error) => {
                tracing::debug!(provider = wanted.provider, %error, "no prices to be had");
                self.quotes.note(wanted, |quote| quote.asked = true);
            }
        }
        self.quotes.answered.notify_waiters();
    }
}

/// The least that is asked for what would do; what is sold out still has a price.
fn cheapest(offers: &[Offer], wanted: &Wanted) -> Option<UsdPerSecond> {
    let fits = |offer: &&Offer| {
        let named =
            wanted.gpu.is_empty() || wanted.gpu.iter().any(|g| *g == offer.gpu || *g == offer.id);
        named && offer.vram_mib * u64::from(wanted.gpus.max(1)) >= wanted.vram_mib
    };
    let price = |offer: &Offer| match wanted.tier {
        Tier::Serverless => offer.usd_per_second.and_then(UsdPerSecond::of),
        _ => offer.usd_per_hour.and_then(UsdPerSecond::hourly),
    };
    let prices = offers.iter().filter(fits).filter_map(price);
    prices.min_by(|a, b| a.as_usd().total_cmp(&b.as_usd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(gpu: &str, usd_per_hour: f64) -> Offer {
        Offer {
            id: format!("id-{gpu}"),
            gpu: gpu.to_owned(),
            vram_mib: 24 << 10,
            usd_per_hour: Some(usd_per_hour),
            usd_per_second: None,
            region: String::new(),
            available: true,
        }
    }

    fn wanted(gpu: &[&str], vram_mib: u64) -> Wanted {
        Wanted {
            provider: "toy".to_owned(),
            tier: Tier::Pod,
            vram_mib,
            gpus: 1,
            gpu: gpu.iter().map(|gpu| (*gpu).to_owned()).collect(),
        }
    }

    #[test]
    fn the_cheapest_that_fits_is_the_price() {
        let offers = [offer("L4", 0.43), offer("RTX 4090", 0.69)];
        let price = |gpu: &[&str], vram| {
            let price = cheapest(&offers, &wanted(gpu, vram))?;
            Some((price.as_usd_per_hour() * 100.0).round())
        };
        assert_eq!(price(&[], 0), Some(43.0));
        assert_eq!(price(&["RTX 4090"], 0), Some(69.0));
        assert_eq!(price(&["id-L4"], 24 << 10), Some(43.0));
        assert_eq!(price(&[], 25 << 10), None, "none is large enough");
        assert_eq!(price(&["H100"], 0), None);
    }
}
