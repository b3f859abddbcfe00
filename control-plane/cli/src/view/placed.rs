use serde::Deserialize;
use serde::de::IgnoredAny;
use thermocline_policy::FLEET;

/// A deployment, for where it may run.
#[derive(Debug, Deserialize)]
pub(crate) struct Placed {
    pub(crate) name: String,
    pub(crate) spec: PlacedSpec,
    #[serde(default)]
    pub(crate) status: PlacedStatus,
}

/// Of a status, what it warns of.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PlacedStatus {
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

/// Of a specification, its tiers.
#[derive(Debug, Deserialize)]
pub(crate) struct PlacedSpec {
    pub(crate) tiers: PlacedTiers,
}

/// Of the tiers, the local one, and whose the serverless one is.
#[derive(Debug, Deserialize)]
pub(crate) struct PlacedTiers {
    #[serde(default)]
    pub(crate) local: Option<IgnoredAny>,
    #[serde(default)]
    pub(crate) serverless: Option<PlacedServerless>,
}

/// Of a serverless tier, its provider.
#[derive(Debug, Deserialize)]
pub(crate) struct PlacedServerless {
    pub(crate) provider: Option<String>,
}

impl Placed {
    /// Whether it is to run on the shared fleet.
    pub(crate) fn is_on_fleet(&self) -> bool {
        let serverless = self.spec.tiers.serverless.as_ref();
        serverless.is_some_and(|tier| tier.provider.as_deref() == Some(FLEET))
    }
}
