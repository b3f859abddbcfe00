use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use thermocline_policy::NanoUsd;
use thermocline_store::{LedgerEntry, WhatIfEntry};
use thermocline_wire::{micros, rfc3339};

use super::params::Asked;
use super::{Control, Problem};

const HOUR: i64 = 3_600_000_000;
const SLOT: i64 = 10_000_000;
const DAY: i64 = 24 * HOUR;

/// `?from&to&by`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    from: Option<String>,
    to: Option<String>,
    by: Option<String>,
}

/// By what amounts are told apart.
#[derive(Debug, Clone, Copy, Default)]
struct By {
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
    let to = time("to", wanted.to, now)?;
    let from = time("from", wanted.from, to.saturating_sub(DAY))?;
    let by = read_by(wanted.by.as_deref().unwrap_or("deployment,tier"))?;
    if from > to {
        return Err(wrong("from", "must not be after to"));
    }
    // What the last minute brought is in it.
    control.post().await;
    let hours = (from.div_euclid(HOUR), to.div_euclid(HOUR) + 1);
    let ledger = control.store.ledger(hours.0, hours.1).await?;
    let what_if = control.store.what_if(hours.0, hours.1).await?;
    let total: i64 = ledger.iter().map(|entry| entry.cost.0).sum();
    Ok(Json(json!({
        "from": rfc3339(hours.0 * HOUR),
        "to": rfc3339(hours.1 * HOUR),
        "total_usd": NanoUsd(total).as_usd(),
        "total_nano_usd": total,
        "items": items(&ledger, by),
        "what_if": otherwise(&ledger, &what_if),
        "next": null,
    })))
}

/// `?from`.
#[derive(Deserialize)]
pub(super) struct Since {
    from: Option<String>,
}

/// What came, in slots of ten seconds; empty slots are left out.
pub(super) async fn arrivals(
    State(control): Control,
    Asked(since): Asked<Since>,
) -> Result<Json<Value>, Problem> {
    let now = control.clock.wall_micros();
    let from = time("from", since.from, now.saturating_sub(DAY))?;
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
    let mut sums: BTreeMap<[Option<&str>; 3], (i64, i64)> = BTreeMap::new();
    for entry in ledger {
        let key = [
            by.deployment.then_some(entry.deployment.as_str()),
            by.tier.then_some(entry.tier.as_str()),
            by.provider.then_some(entry.provider.as_str()),
        ];
        let sum = sums.entry(key).or_default();
        sum.0 += entry.micros;
        sum.1 += entry.cost.0;
    }
    sums.into_iter()
        .map(|([deployment, tier, provider], (micros, cost))| {
            json!({
                "deployment": deployment,
                "tier": tier,
                "provider": provider,
                "hours": micros as f64 / HOUR as f64,
                "usd": NanoUsd(cost).as_usd(),
                "nano_usd": cost,
            })
        })
        .collect()
}

/// Per deployment, what one tier alone would have cost, and the best possible.
fn otherwise(ledger: &[LedgerEntry], what_if: &[WhatIfEntry]) -> Vec<Value> {
    let mut sums: BTreeMap<&str, [i64; 4]> = BTreeMap::new();
    for entry in what_if {
        let sum = sums.entry(&entry.deployment).or_default();
        sum[0] += entry.arrivals;
        sum[1] += entry.serverless.0;
        sum[2] += entry.pod.0;
        sum[3] += entry.optimum.0;
    }
    sums.into_iter()
        .map(|(deployment, [arrivals, serverless, pod, optimum])| {
            let own = ledger.iter().filter(|entry| entry.deployment == deployment);
            let paid: i64 = own.map(|entry| entry.cost.0).sum();
            json!({
                "deployment": deployment,
                "arrivals": arrivals,
                "paid_usd": NanoUsd(paid).as_usd(),
                "serverless_usd": NanoUsd(serverless).as_usd(),
                "pod_usd": NanoUsd(pod).as_usd(),
                "optimum_usd": NanoUsd(optimum).as_usd(),
            })
        })
        .collect()
}

fn read_by(text: &str) -> Result<By, Problem> {
    let mut by = By::default();
    for word in text.split(',') {
        match word {
            "deployment" => by.deployment = true,
            "tier" => by.tier = true,
            "provider" => by.provider = true,
            _ => {
                return Err(wrong(
                    "by",
                    "must be some of deployment, tier, provider, with commas",
                ));
            }
        }
    }
    Ok(by)
}

fn time(field: &str, text: Option<String>, usual: i64) -> Result<i64, Problem> {
    let Some(text) = text else {
        return Ok(usual);
    };
    micros(&text).ok_or_else(|| wrong(field, "must be a time as 2026-12-01T00:00:00Z"))
}

fn wrong(field: &str, what: &str) -> Problem {
    Problem::new(400, "bad_query", format!("{field}: {what}"))
}
