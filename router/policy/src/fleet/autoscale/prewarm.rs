use std::cmp::Reverse;
use std::time::Duration;

use crate::fleet::{Mib, Shape, Terms};

/// A model that a new worker might load before it takes jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prewarm<'a> {
    /// The deployment.
    pub model: &'a str,
    /// Its terms.
    pub terms: &'a Terms,
    /// How much the whole fleet uses it.
    pub heat: f64,
    /// How long loading it takes.
    pub load_time: Duration,
    /// Workers that hold it.
    pub holders: usize,
}

/// What a new worker of `shape` with these `devices` loads before it takes jobs,
/// in this order: what is pinned, then what saves the most loading per MiB,
/// within caps and memory.
pub fn prewarm<'a>(models: &[Prewarm<'a>], devices: &[Mib], shape: Shape) -> Vec<&'a str> {
    let allowed = |model: &&Prewarm| {
        model.terms.shape == shape
            && !model.terms.preemptible
            && model.terms.cap().is_none_or(|cap| model.holders < cap)
            && (model.terms.pinned || model.heat > 0.0)
    };
    let mut wanted: Vec<&Prewarm> = models.iter().filter(allowed).collect();
    wanted.sort_by(|a, b| {
        let by_saving = saving(b).total_cmp(&saving(a));
        let by_pin = b.terms.pinned.cmp(&a.terms.pinned);
        by_pin.then(by_saving).then_with(|| a.model.cmp(b.model))
    });
    let mut free = devices.to_vec();
    wanted.retain(|model| place(model.terms, &mut free));
    wanted.into_iter().map(|model| model.model).collect()
}

fn saving(model: &Prewarm) -> f64 {
    model.heat * model.load_time.as_secs_f64() / model.terms.memory.0.max(1) as f64
}

/// Takes the model's share of the devices with most room; whether there was enough.
fn place(terms: &Terms, free: &mut [Mib]) -> bool {
    let mut roomiest: Vec<usize> = (0..free.len()).collect();
    roomiest.sort_by_key(|device| Reverse(free[*device]));
    roomiest.truncate(terms.spread());
    let room = |device: &usize| free[*device] >= terms.share();
    if roomiest.len() < terms.spread() || !roomiest.iter().all(room) {
        return false;
    }
    for device in roomiest {
        free[device] = free[device].less(terms.share());
    }
    true
}
