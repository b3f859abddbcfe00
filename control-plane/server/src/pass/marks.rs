//! What the instances of a specification are started from, worked out once.

use std::sync::Arc;

use thermocline_policy::{Spec, Tier, TierMap};
use thermocline_provider::Provider;
use thermocline_store::{InstanceRow, StoreError};
use thermocline_table::Config;

use crate::control::ControlPlane;
use crate::launch::{self, former_fingerprint};
use crate::provider::name_for;

/// The fingerprints of each tier, of the configuration that the last pass saw.
#[derive(Default)]
pub(crate) struct Marks {
    config: Option<Arc<Config>>,
    marks: TierMap<String>,
}

impl Marks {
    /// Those of `config`: a pass comes every second, an edit once in a while.
    pub(crate) fn of(
        &mut self,
        config: &Arc<Config>,
        fingerprint: impl Fn(&Spec, Tier) -> String,
    ) -> &TierMap<String> {
        let known = self.config.as_ref();
        if !known.is_some_and(|known| Arc::ptr_eq(known, config)) {
            self.marks = TierMap::from_fn(|tier| fingerprint(&config.spec, tier));
            self.config = Some(config.clone());
        }
        &self.marks
    }
}

impl ControlPlane {
    /// What an instance of `tier` is started from, as one text.
    pub(crate) fn fingerprint(&self, spec: &Spec, tier: Tier) -> String {
        let provider = name_for(spec, tier).and_then(|name| self.providers.get(name));
        let resizes = provider.is_some_and(|provider| provider.adapter.resizes());
        launch::fingerprint(spec, tier, resizes)
    }

    /// Gives a row of `spec` today's fingerprint where it has that of former servers,
    /// so that an upgrade replaces nothing.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn renew_fingerprint(
        &self,
        spec: &Spec,
        row: &mut InstanceRow,
    ) -> Result<(), StoreError> {
        let fingerprint = self.fingerprint(spec, row.tier);
        let is_former = row.fingerprint == former_fingerprint(spec, row.tier);
        if is_former && row.fingerprint != fingerprint {
            self.store.set_fingerprint(&row.id, &fingerprint).await?;
            row.fingerprint = fingerprint;
        }
        Ok(())
    }
}
