//! What is for rent, and which of it to ask for.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_provider::{InstanceRequest, Offer, OfferQuery, ProviderError};

use crate::account::Account;
use crate::call::Call;
use crate::pace::Lane;
use crate::said::{Ask, Offers};
use crate::settings::Settings;

/// The most asks that are looked at for one GPU type of an instance.
const FEW: u32 = 16;
/// The most asks that are looked at for prices.
const MANY: u32 = 1_000;
/// Cards have a little less memory than their name says.
const MEMORY_THAT_IS_THERE: f64 = 0.98;
/// What may be bid, dollars an hour.
const BIDS: (f64, f64) = (0.001, 128.0);

/// What machines must have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// MiB of one GPU.
    pub(crate) vram_mib: u64,
    pub(crate) gpus: u32,
    pub(crate) cpus: f64,
    pub(crate) memory_mib: u64,
}

impl Needs {
    pub(crate) fn of(request: &InstanceRequest) -> Self {
        Needs {
            vram_mib: request.vram_mib,
            gpus: request.gpus,
            cpus: request.cpus,
            memory_mib: request.memory_mib,
        }
    }
}

/// The searches for `request`, one after the other: one for each GPU that it
/// names, else one for any.
pub(crate) fn searches(request: &InstanceRequest, settings: &Settings) -> Vec<Value> {
    let needs = Needs::of(request);
    let words: Vec<&String> = match &request.offer {
        Some(offer) => vec![offer],
        None => request.gpu.iter().collect(),
    };
    let search = |word: Option<&str>| search(needs, word, FEW, settings);
    match words.is_empty() {
        true => vec![search(None)],
        false => words.iter().map(|word| search(Some(word))).collect(),
    }
}

/// A search for what has `needs` and is, with `word`, of that GPU type.
fn search(needs: Needs, word: Option<&str>, limit: u32, settings: &Settings) -> Value {
    let mut search = json!({
        "limit": limit,
        "type": if settings.bid.is_some() { "bid" } else { "ondemand" },
        "rentable": { "eq": true },
        "num_gpus": { "eq": needs.gpus.max(1) },
        "gpu_ram": { "gte": (needs.vram_mib as f64 * MEMORY_THAT_IS_THERE).floor() },
        "disk_space": { "gte": settings.disk_gb },
        "allocated_storage": settings.disk_gb, // the total price is with it
        "direct_port_count": { "gte": 1 },
        "reliability": { "gte": settings.reliability },
        "order": [["dph_total", "asc"]],
    });
    if settings.verified {
        search["verified"] = json!({ "eq": true });
    }
    if !settings.countries.is_empty() {
        search["geolocation"] = json!({ "in": settings.countries });
    }
    if let Some(word) = word {
        search["gpu_name"] = json!({ "eq": word.replace('_', " ") });
    }
    if needs.cpus > 0.0 {
        search["cpu_cores_effective"] = json!({ "gte": needs.cpus });
    }
    if needs.memory_mib > 0 {
        search["cpu_ram"] = json!({ "gte": needs.memory_mib });
    }
    search
}

/// The asks that `search` finds and that can be had, cheapest first.
pub(crate) async fn find(account: &Account, search: &Value) -> Result<Vec<Ask>, ProviderError> {
    let call = Call {
        lane: Lane::Search,
        method: Method::POST,
        path: &["v0", "bundles"],
        query: &[],
        body: Some(search),
    };
    let Offers { mut offers } = account.call(call).await?;
    let priced = |ask: &Ask| ask.dph_total.is_finite() && ask.dph_total > 0.0;
    offers.retain(|ask| !ask.rented && priced(ask));
    offers.sort_by(|a, b| a.dph_total.total_cmp(&b.dph_total));
    Ok(offers)
}

impl Ask {
    /// Dollars an hour that are bid for it; `None` on demand, or where nobody
    /// may bid.
    pub(crate) fn bid(&self, settings: &Settings) -> Option<f64> {
        let bid = self.min_bid? * settings.bid?;
        let (least, most) = BIDS;
        bid.is_finite().then(|| bid.clamp(least, most))
    }

    /// Dollars an hour with storage.
    pub(crate) fn price(&self, settings: &Settings) -> f64 {
        match self.bid(settings) {
            Some(bid) => bid + (self.dph_total - self.dph_base).max(0.0),
            None => self.dph_total,
        }
    }
}

/// What could be had now: the cheapest of each GPU type.
pub(crate) async fn offers(
    account: &Account,
    query: OfferQuery,
    settings: &Settings,
) -> Result<Vec<Offer>, ProviderError> {
    let needs = Needs {
        vram_mib: query.vram_mib,
        gpus: query.gpus,
        ..Needs::default()
    };
    let asks = find(account, &search(needs, None, MANY, settings)).await?;
    Ok(cheapest(asks, settings))
}

fn cheapest(asks: Vec<Ask>, settings: &Settings) -> Vec<Offer> {
    let mut offers: BTreeMap<String, Offer> = BTreeMap::new();
    for ask in asks {
        let price = ask.price(settings);
        let known = offers.get(&ask.gpu_name).and_then(|it| it.usd_per_hour);
        if known.is_some_and(|known| known <= price) {
            continue;
        }
        let offer = Offer {
            id: ask.gpu_name.clone(),
            gpu: ask.gpu_name.clone(),
            vram_mib: ask.gpu_ram.max(0.0) as u64,
            usd_per_hour: Some(price),
            usd_per_second: None,
            region: ask.geolocation.unwrap_or_default(),
            available: true,
        };
        offers.insert(ask.gpu_name, offer);
    }
    offers.into_values().collect()
}

#[cfg(test)]
mod tests;
