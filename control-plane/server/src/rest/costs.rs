use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_policy::NanoUsd;
use thermocline_store::{LedgerEntry, WhatIfEntry};
use thermocline_wire::rfc3339;

use super::params::{self, Asked, wrong};
use super::{Control, Problem};

const HOUR: i64 = 3_600_000_000;
const SLOT: i64 = 10_000_000;
const DAY: i64 = 24 * HOUR;

/// `?from&to&by`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default, deserialize_with = "params::time")]
    from: Option<i64>,
    #[serde(default, deserialize_with = "params::time")]
    to: Option<i64>,
    by: Option<String>,
}

/// By what amounts are told apart.
#[derive(Debug, Clone, Copy, Default)]
struct By {
    hour: bool,
    deployment: bool,
    tier: bool,
    provider: bool,
}

/// What was paid, whole hours of UTC, and what would have been otherwise.
pub(super) async fn costs(
    State(control): Control,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Value>, Problem> {
    let now = control.clock.wall_micros();
    let to = wanted.to.unwrap_or(now);
    let from = wanted.from.unwrap_or(to.saturating_sub(DAY));
    let by = read_by(wanted.by.as_deref().unwrap_or("deployment,tier"))?;
    if from > to {
        return Err(wrong("from", "must not be after to"));
    }
    // What the last minute brought is in it.
    control.post().await;
    let hours = (from.div_euclid(HOUR), to.div_euclid(HOUR) + 1);
    let ledger = control.store.ledger(hours.0, hours.1).await?;
    let what_if = control.store.what_if(hours.0, hours.1).await?;
    let total: NanoUsd = ledger.iter().map(|entry| entry.cost).sum();
    let idle: NanoUsd = ledger.iter().map(|entry| entry.idle).sum();
    Ok(Json(json!({
        "from": rfc3339(hours.0 * HOUR),
        "to": rfc3339(hours.1 * HOUR),
        "total_usd": total.as_usd(),
        "total_nano_usd": total.0,
        "idle_usd": idle.as_usd(),
        "items": items(&ledger, by),
        "what_if": otherwise(&what_if),
        "next": null,
    })))
}

/// `?from`.
#[derive(Deserialize)]
pub(super) struct Since {
    #[serde(default, deserialize_with = "params::time")]
    from: Option<i64>,
}

/// What came, in slots of ten seconds; empty slots are left out.
pub(super) async fn arrivals(
    State(control): Control,
    Asked(since): Asked<Since>,
) -> Result<Json<Value>, Problem> {
    let now = control.clock.wall_micros();
    let from = since.from.unwrap_or(now.saturating_sub(DAY));
    control.post().await;
    let rows = control.store.arrivals(from.div_euclid(SLOT)).await?;
    let items: Vec<Value> = rows
        .into_iter()
        .map(|row| json!({ "deployment": row.deployment, "slot": row.slot, "arrivals": row.arrivals }))
        .collect();
    Ok(Json(
        json!({ "slot_s": SLOT / 1_000_000, "items": items, "next": null }),
    ))
}

fn items(ledger: &[LedgerEntry], by: By) -> Vec<Value> {
    type Key<'l> = (Option<i64>, [Option<&'l str>; 3]);
    let mut sums: BTreeMap<Key<'_>, Sum> = BTreeMap::new();
    for entry in ledger {
        let words = [
            by.deployment.then_some(entry.deployment.as_str()),
            by.tier.then_some(entry.tier.as_str()),
            by.provider.then_some(entry.provider.as_str()),
        ];
        let sum = sums.entry((by.hour.then_some(entry.hour), words));
        sum.or_default().add(entry);
    }
    sums.into_iter()
        .map(|((hour, [deployment, tier, provider]), sum)| {
            json!({
                "hour": hour.map(|hour| rfc3339(hour * HOUR)),
                "deployment": deployment,
                "tier": tier,
                "provider": provider,
                "hours": sum.micros as f64 / HOUR as f64,
                "usd": sum.cost.as_usd(),
                "nano_usd": sum.cost.0,
                "idle_usd": sum.idle.as_usd(),
            })
        })
        .collect()
}

/// What some entries come to.
#[derive(Default)]
struct Sum {
    micros: i64,
    cost: NanoUsd,
    idle: NanoUsd,
}

impl Sum {
    fn add(&mut self, entry: &LedgerEntry) {
        self.micros = self.micros.saturating_add(entry.micros);
        self.cost += entry.cost;
        self.idle += entry.idle;
    }
}

/// Per deployment, what one tier alone would have cost, and the best possible.
fn otherwise(what_if: &[WhatIfEntry]) -> Vec<Value> {
    let mut sums: BTreeMap<&str, (i64, [NanoUsd; 4])> = BTreeMap::new();
    for entry in what_if {
        let sum = sums.entry(&entry.deployment).or_default();
        sum.0 += entry.arrivals;
        let costs = [entry.paid, entry.serverless, entry.pod, entry.optimum];
        for (sum, cost) in sum.1.iter_mut().zip(costs) {
            *sum += cost;
        }
    }
    sums.into_iter()
        .map(
            |(deployment, (arrivals, [paid, serverless, pod, optimum]))| {
                // Within some hours of a longer time, what was done may be cheaper
                // than the part of the best course of all of it. It was possible.
                let optimum = optimum.min(paid).min(serverless).min(pod);
                json!({
                    "deployment": deployment,
                    "arrivals": arrivals,
                    "paid_usd": paid.as_usd(),
                    "serverless_usd": serverless.as_usd(),
                    "pod_usd": pod.as_usd(),
                    "optimum_usd": optimum.as_usd(),
                })
            },
        )
        .collect()
}

fn read_by(text: &str) -> Result<By, Problem> {
    let mut by = By::default();
    for word in text.split(',') {
        let field = match word {
            "hour" => &mut by.hour,
            "deployment" => &mut by.deployment,
            "tier" => &mut by.tier,
            "provider" => &mut by.provider,
            _ => {
                return Err(wrong(
                    "by",
                    "must be some of hour, deployment, tier, provider, with commas",
                ));
            }
        };
        if std::mem::replace(field, true) {
            return Err(wrong("by", &format!("names {word} twice")));
        }
    }
    Ok(by)
}
