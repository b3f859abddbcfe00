//! What providers ask for: kept, and asked again now and then, so that nobody
//! who needs a price waits for a provider.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use thermocline_policy::{Moment, Prices, Spec, Tier, UsdPerSecond};
use thermocline_provider::{Offer, OfferQuery, Provider};

use crate::control::ControlPlane;
use crate::launch::gpus;
use crate::provider::name_for;

/// How long a price is believed.
const FRESH: Duration = Duration::from_secs(600);
/// How soon a provider is asked again that did not answer.
const AGAIN: Duration = Duration::from_secs(60);
/// How long a start waits for a price that was never asked for.
const PATIENCE: Duration = Duration::from_secs(2);
const MIB: u64 = 1 << 20;

/// The prices that are known.
#[derive(Debug, Default)]
pub(crate) struct Quotes(Mutex<HashMap<Wanted, Quote>>);

/// What is to be priced.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Wanted {
    provider: String,
    tier: Tier,
    vram_mib: u64,
    gpus: u32,
    gpu: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Quote {
    price: Option<UsdPerSecond>,
    ask_after: Moment,
    /// Whether the provider has been asked, whatever it said.
    asked: bool,
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
        self.0.lock().unwrap_or_else(|e| e.into_inner())
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
        let now = self.clock.now();
        let mut kept = self.quotes.kept();
        let known = kept.get(&wanted).copied();
        if known.is_none_or(|quote| quote.ask_after <= now) {
            // Asked once, whatever becomes of it.
            let price = known.and_then(|quote| quote.price);
            let quote = Quote {
                price,
                ask_after: now + AGAIN,
                asked: known.is_some_and(|quote| quote.asked),
            };
            kept.insert(wanted.clone(), quote);
            let control = self.clone();
            self.runtime
                .spawn(async move { control.ask_price(wanted).await });
        }
        known.and_then(|quote| quote.price).or(self.assumed(tier))
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

    /// The price of `tier`, asked for now if it was never asked.
    pub(crate) async fn asked_price(
        self: &Arc<Self>,
        spec: &Spec,
        tier: Tier,
    ) -> Option<UsdPerSecond> {
        if self.known_price(spec, tier).is_none() {
            let asking = self.clone().ask_price(Wanted::of(spec, tier)?);
            // It goes on to be asked, for who comes later.
            let asking = self.runtime.spawn(asking);
            let deadline = self.clock.now() + PATIENCE;
            drop(self.clock.timeout_at(deadline, asking).await);
        }
        self.known_price(spec, tier).flatten()
    }

    /// A pod turned out to cost more than was asked for it: believed until the
    /// provider is asked again.
    pub(crate) fn learn_price(&self, spec: &Spec, tier: Tier, real: UsdPerSecond) {
        if let Some(wanted) = Wanted::of(spec, tier) {
            let quote = Quote {
                price: Some(real),
                ask_after: self.clock.now() + FRESH,
                asked: true,
            };
            self.quotes.kept().insert(wanted, quote);
        }
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
                let quote = Quote {
                    price: cheapest(&offers, &wanted),
                    ask_after: self.clock.now() + FRESH,
                    asked: true,
                };
                self.quotes.kept().insert(wanted, quote);
            }
            Err(error) => {
                tracing::debug!(provider = wanted.provider, %error, "no prices to be had");
                let mut kept = self.quotes.kept();
                let quote = kept.entry(wanted).or_insert(Quote {
                    price: None,
                    ask_after: self.clock.now() + AGAIN,
                    asked: true,
                });
                quote.asked = true;
            }
        }
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
