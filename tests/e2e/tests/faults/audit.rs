//! What must be so at every moment, and what in the end.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::json;
use thermocline_provider::{InstanceRequest, ProviderInstance};
use thermocline_store::InstanceRow;
use thermocline_support::provider::Call;

use crate::world::{World, secs};

/// What the test itself put at the cloud.
#[derive(Default)]
pub(crate) struct Planted {
    /// Keys of instances of ours that nobody intended.
    pub(crate) leaks: BTreeSet<String>,
    /// Ids of what belongs to others.
    strangers: BTreeSet<String>,
}

const NOT_SERVING: &str = "it does not serve";

/// Who owns what is nobody's business.
const STRANGER: &str = "stranger";

impl Planted {
    /// Plants an instance of another installation.
    pub(crate) fn stranger(&mut self, world: &World) {
        let made = world.cloud.plant("theirs", &request(STRANGER));
        self.strangers.insert(made.id);
    }

    /// Plants an instance of ours that nobody intended.
    pub(crate) fn leak(&mut self, world: &World) {
        let key = format!("leak-{}", self.leaks.len());
        world.cloud.plant(&key, &request(&world.owner));
        self.leaks.insert(key);
    }
}

fn request(owner: &str) -> InstanceRequest {
    let request = json!({
        "owner": owner, "deployment": "m", "tier": "pod", "image": "i:1", "port": 8000,
    });
    serde_json::from_value(request).unwrap()
}

fn ours(world: &World, planted: &Planted) -> Vec<ProviderInstance> {
    let live = world.cloud.ripe_truth().live.into_iter();
    live.filter(|it| it.owner == world.owner && !planted.leaks.contains(&it.key))
        .collect()
}

fn by_id(rows: Vec<InstanceRow>) -> BTreeMap<String, InstanceRow> {
    rows.into_iter().map(|row| (row.id.clone(), row)).collect()
}

/// Holds at every moment: what exists is written down, no slot has two, nobody
/// else's was touched.
pub(crate) fn at_any_time(world: &World, planted: &Planted, max: usize) -> Result<(), String> {
    let mut rows = by_id(world.rows());
    let live = ours(world, planted);
    if live.iter().any(|it| !rows.contains_key(&it.key)) {
        // It may have come, with its row, since we looked.
        rows.extend(by_id(world.rows()));
    }
    let row_of = |it: &ProviderInstance| rows.get(&it.key);
    if let Some(orphan) = live.iter().find(|it| row_of(it).is_none()) {
        let calls = world.cloud.truth().calls;
        let calls: Vec<_> = calls.iter().rev().take(30).collect();
        return Err(format!(
            "no row stands for {orphan:?}; rows: {rows:?}; calls: {calls:#?}"
        ));
    }
    let mut slots = BTreeSet::new();
    for row in live.iter().filter_map(row_of) {
        if !slots.insert((&row.deployment, row.tier, row.slot)) {
            return Err(format!("two live for one slot: {row:?}"));
        }
    }
    if live.len() > max + 1 {
        return Err(format!("{} live, {max} wanted at most", live.len()));
    }
    strangers_untouched(world, planted)
}

fn strangers_untouched(world: &World, planted: &Planted) -> Result<(), String> {
    let truth = world.cloud.truth();
    let there = |id: &String| truth.live.iter().any(|it| it.id == *id);
    if let Some(gone) = planted.strangers.iter().find(|id| !there(id)) {
        return Err(format!("a stranger's instance is gone: {gone}"));
    }
    let deleted = |id: &str| id.starts_with("stranger-") || planted.strangers.contains(id);
    let mut deletes = truth.calls.iter().filter(|seen| seen.call == Call::Delete);
    match deletes.find(|seen| deleted(&seen.subject)) {
        Some(seen) => Err(format!("a stranger's was to be deleted: {}", seen.subject)),
        None => Ok(()),
    }
}

/// Holds once everything is healed: it serves again from an instance of its own;
/// once it is deleted, nothing is there and nothing is written down.
pub(crate) fn in_the_end(world: &mut World, planted: &Planted, max: usize) -> Result<(), String> {
    heals(world, planted, max, NOT_SERVING, |world| {
        let known = |row: &InstanceRow| row.state.is_ready();
        let rows = world.rows();
        let backends = world.backends("m");
        let its_own = |(instance, url): &(String, String)| {
            world.cloud.who_listens(url).as_ref() == Some(instance)
        };
        backends.len() == 1 && backends.iter().all(its_own) && rows.iter().all(known)
    })?;
    world.admin(Method::DELETE, "/deployments/m", None);
    heals(world, planted, max, "it is not torn down", |world| {
        world.rows().is_empty() && world.status("m").is_null()
    })?;
    let live = world.cloud.truth().live;
    match live.into_iter().find(|it| it.owner == world.owner) {
        Some(left) => Err(format!("left behind: {left:?}")),
        None => Ok(()),
    }
}

/// Waits, longer each time, until `holds` and no leak is left.
fn heals(
    world: &mut World,
    planted: &Planted,
    max: usize,
    what: &str,
    holds: impl Fn(&mut World) -> bool,
) -> Result<(), String> {
    // In all twenty minutes: longer than the longest back-off twice.
    let minutes = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 5, 5, 5];
    let steps = minutes
        .iter()
        .flat_map(|minutes| [minutes * 60, 1, 1, 4, 5, 5]);
    for step in steps.filter(|step| *step > 0) {
        if what == NOT_SERVING && !world.serves("m") {
            world.deploy_again("m", max as u32);
            world.wake("m");
        }
        world.step(secs(step));
        at_any_time(world, planted, max)?;
        let live = world.cloud.ripe_truth().live;
        let is_leak =
            |it: &ProviderInstance| it.owner == world.owner && planted.leaks.contains(&it.key);
        let leaked = live.iter().any(is_leak);
        if holds(world) && !leaked {
            return Ok(());
        }
    }
    let (status, rows) = (world.status("m"), world.rows());
    let live = world.cloud.truth().live;
    Err(format!(
        "{what}: {status}\nrows: {rows:#?}\nlive: {live:#?}"
    ))
}
