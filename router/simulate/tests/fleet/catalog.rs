//! What can be asked for: models of very different sizes and popularity.

use std::time::Duration;

use thermocline_policy::fleet::{Identity, Mib, Terms};
use thermocline_simulate::Chance;

/// One model.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) id: Identity,
    pub(crate) terms: Terms,
    pub(crate) load_time: Duration,
    /// Its part of the traffic; all parts are 1 together.
    pub(crate) popularity: f64,
}

/// All models.
#[derive(Debug, Clone)]
pub(crate) struct Catalog(pub(crate) Vec<Model>);

impl Catalog {
    /// `count` models whose popularity is Zipf's with `exponent`, and whose sizes
    /// lie evenly in their logarithm between 256 MiB and 32 GiB, whatever their
    /// popularity. A load takes 4 seconds and one more per GiB.
    pub(crate) fn zipf(count: usize, exponent: f64, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let total: f64 = (1..=count).map(|rank| (rank as f64).powf(-exponent)).sum();
        let models = (1..=count).map(|rank| {
            let name = format!("model-{seed}-{rank}");
            let gib = 0.25 * 128_f64.powf(chance.unit());
            Model {
                id: Identity::of(&name),
                name,
                terms: Terms {
                    memory: Mib((gib * 1024.0) as u64),
                    ..Terms::default()
                },
                load_time: Duration::from_secs_f64(4.0 + gib),
                popularity: (rank as f64).powf(-exponent) / total,
            }
        });
        Catalog(models.collect())
    }

    /// The memory that holds `models` of the mean size.
    pub(crate) fn room_for(&self, models: u64) -> Mib {
        let total: Mib = self.0.iter().map(|model| model.terms.memory).sum();
        Mib(total.0 * models / self.0.len() as u64)
    }

    /// The same with `part` of the traffic to those after the first `warm`, evenly.
    pub(crate) fn with_cold(mut self, warm: usize, part: f64) -> Self {
        let (head, tail) = self.0.split_at_mut(warm);
        let before: f64 = head.iter().map(|model| model.popularity).sum();
        for model in &mut *head {
            model.popularity *= (1.0 - part) / before;
        }
        let each = part / tail.len() as f64;
        tail.iter_mut().for_each(|model| model.popularity = each);
        self
    }
}
