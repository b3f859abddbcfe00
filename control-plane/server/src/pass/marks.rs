//! What the instances of a specification are started from, worked out once.

use std::sync::Arc;

use thermocline_policy::TierMap;
use thermocline_table::Config;

use crate::launch::fingerprint;

/// The fingerprints of each tier, of the configuration that the last pass saw.
#[derive(Default)]
pub(crate) struct Marks {
    config: Option<Arc<Config>>,
    marks: TierMap<String>,
}

impl Marks {
    /// Those of `config`: a pass comes every second, an edit once in a while.
    pub(crate) fn of(&mut self, config: &Arc<Config>) -> &TierMap<String> {
        let known = self.config.as_ref();
        if !known.is_some_and(|known| Arc::ptr_eq(known, config)) {
            self.marks = TierMap::from_fn(|tier| fingerprint(&config.spec, tier));
            self.config = Some(config.clone());
        }
        &self.marks
    }
}
