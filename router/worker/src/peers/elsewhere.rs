//! How much models are used on other workers. It outlives their being held there:
//! a model that moves is as much in demand as it was.

use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_policy::fleet::Heat;

/// Below this many uses a model has cooled down.
const COLD: f64 = 0.01;

/// By model: what each life of a worker last said of it.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere(BTreeMap<String, BTreeMap<String, Heat>>);

impl Elsewhere {
    /// Takes in how much a life of a worker says that it uses its models.
    pub(crate) fn hear<'m>(
        &mut self,
        incarnation: &str,
        used: impl IntoIterator<Item = (&'m str, f64)>,
        now: Moment,
    ) {
        let used = used.into_iter().filter(|(_, heat)| *heat >= COLD);
        for (model, heat) in used {
            let heats = self.0.entry(model.to_owned()).or_default();
            heats.insert(incarnation.to_owned(), Heat::of(heat, now));
        }
    }

    /// How much all of them use `model`, and used it.
    pub(crate) fn of(&self, model: &str, half_life: Duration) -> Heat {
        let heats = self.0.get(model).into_iter().flat_map(BTreeMap::values);
        heats.fold(Heat::default(), |all, heat| all.and(*heat, half_life))
    }

    /// Drops what has cooled down, so that it stays bounded.
    pub(crate) fn forget(&mut self, half_life: Duration, now: Moment) {
        self.0.retain(|_, heats| {
            heats.retain(|_, heat| heat.read(now, half_life) >= COLD);
            !heats.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_LIFE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(seconds))
    }

    fn read(elsewhere: &Elsewhere, seconds: u64) -> f64 {
        elsewhere.of("m", HALF_LIFE).read(at(seconds), HALF_LIFE)
    }

    #[test]
    fn a_model_that_moves_stays_as_hot_as_it_was() {
        let mut elsewhere = Elsewhere::default();
        elsewhere.hear("a", [("m", 8.0)], at(0));
        elsewhere.hear("a", [], at(60));
        assert_eq!(read(&elsewhere, 60), 4.0);
        elsewhere.hear("b", [("m", 1.0)], at(60));
        assert_eq!(read(&elsewhere, 60), 5.0);
    }

    #[test]
    fn what_a_worker_says_again_counts_once() {
        let mut elsewhere = Elsewhere::default();
        elsewhere.hear("a", [("m", 8.0)], at(0));
        elsewhere.hear("a", [("m", 9.0)], at(2));
        assert_eq!(read(&elsewhere, 2), 9.0);
    }

    #[test]
    fn what_has_cooled_down_is_forgotten() {
        let mut elsewhere = Elsewhere::default();
        elsewhere.hear("a", [("m", 1.0)], at(0));
        elsewhere.forget(HALF_LIFE, at(60));
        assert_eq!(read(&elsewhere, 60), 0.5);
        elsewhere.forget(HALF_LIFE, at(600));
        assert!(elsewhere.0.is_empty());
    }
}
