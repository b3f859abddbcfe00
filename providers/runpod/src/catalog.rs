//! What is for sale, and what it costs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use thermocline_policy::{Moment, Tier};
use thermocline_provider::{Offer, OfferQuery, ProviderError};

use crate::account::Account;
use crate::choice::{has_memory, pod_price};
use crate::said::{Cpu, Cpus, Gpu, Gpus};
use crate::settings::Cloud;

/// How long what was read is believed.
const FRESH: Duration = Duration::from_secs(60);

/// The catalogue as it was read last, by product and count.
#[derive(Debug, Default)]
pub(crate) struct Catalog(Mutex<Read>);

/// What was read, and when.
type Read = BTreeMap<(Product, u32), (Moment, Vec<Gpu>)>;

/// What hardware is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Product {
    Pod,
    Serverless,
}

impl Product {
    pub(crate) fn of(tier: Tier) -> Option<Self> {
        match tier {
            Tier::Pod => Some(Product::Pod),
            Tier::Serverless => Some(Product::Serverless),
            Tier::Dedicated | Tier::Local => None,
        }
    }
}

impl Catalog {
    /// Every GPU type, with what is there of it for `count` at a time.
    pub(crate) async fn gpus(
        &self,
        account: &Account,
        product: Product,
        count: u32,
    ) -> Result<Vec<Gpu>, ProviderError> {
        let at = (product, count.max(1));
        let now = account.clock.now();
        let known = self
            .lock()
            .get(&at)
            .filter(|(read, _)| now.since(*read) < FRESH)
            .cloned();
        if let Some((_, gpus)) = known {
            return Ok(gpus);
        }
        let (product, count) = match product {
            Product::Pod => ("POD", at.1.to_string()),
            Product::Serverless => ("SERVERLESS", at.1.to_string()),
        };
        let query = [
            ("include", "AVAILABILITY"),
            ("product", product),
            ("count", &count),
        ];
        let said: Gpus = account.read(&["catalog", "gpus"], &query).await?;
        self.lock().insert(at, (now, said.gpus.clone()));
        Ok(said.gpus)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Read> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Every CPU flavour.
pub(crate) async fn cpus(account: &Account) -> Result<Vec<Cpu>, ProviderError> {
    let said: Cpus = account.read(&["catalog", "cpus"], &[]).await?;
    Ok(said.cpus)
}

/// The offers of pods: one for each type.
pub(crate) fn pod_offers(gpus: &[Gpu], query: OfferQuery, cloud: Cloud) -> Vec<Offer> {
    let count = f64::from(query.gpus.max(1));
    let fitting = gpus.iter().filter(|gpu| has_memory(gpu, query.vram_mib));
    let offer = |gpu: &Gpu| {
        Some(Offer {
            id: gpu.id.clone(),
            gpu: gpu.name.clone(),
            vram_mib: gpu.memory * 1_024,
            usd_per_hour: Some(pod_price(gpu, cloud)? * count),
            usd_per_second: None,
            region: cloud.as_str().to_lowercase(),
            available: is_available(gpu),
        })
    };
    fitting.filter_map(offer).collect()
}

/// The offers of endpoints: one for each pool, at its dearest type's price.
pub(crate) fn pool_offers(gpus: &[Gpu], query: OfferQuery) -> Vec<Offer> {
    let count = f64::from(query.gpus.max(1));
    let mut offers: BTreeMap<&str, Offer> = BTreeMap::new();
    for gpu in gpus.iter().filter(|gpu| has_memory(gpu, query.vram_mib)) {
        let (Some(pool), Some(hourly)) = (gpu.pool.as_deref(), gpu.price.serverless) else {
            continue;
        };
        let price = hourly * count / 3_600.0;
        let offer = offers.entry(pool).or_insert_with(|| Offer {
            id: pool.to_owned(),
            gpu: String::new(),
            vram_mib: gpu.memory * 1_024,
            usd_per_hour: None,
            usd_per_second: None,
            region: String::new(),
            available: false,
        });
        let separator = if offer.gpu.is_empty() { "" } else { ", " };
        offer.gpu = format!("{}{separator}{}", offer.gpu, gpu.name);
        offer.vram_mib = offer.vram_mib.min(gpu.memory * 1_024);
        offer.usd_per_second = Some(offer.usd_per_second.unwrap_or(0.0).max(price));
        offer.available |= is_available(gpu);
    }
    offers.into_values().collect()
}

fn is_available(gpu: &Gpu) -> bool {
    gpu.availability.as_deref() != Some("NONE")
}
