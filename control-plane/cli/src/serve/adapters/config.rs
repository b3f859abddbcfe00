//! `[providers.NAME]`: what each kind is told.

use std::collections::BTreeMap;

use serde_json::Value;
use thermocline_policy::{FLEET, FieldErrors, is_dns_label};
use thermocline_wire::reader::{Mistakes, Object};

use super::plugin::PluginConfig;
use super::runpod::RunpodConfig;
use super::vast::VastConfig;

/// The Docker daemon's name among the providers.
pub(crate) const DOCKER: &str = "docker";

/// One `[providers.NAME]`.
#[derive(Debug, Clone)]
pub(crate) enum ProviderConfig {
    /// A simulated cloud.
    Sim(thermocline_sim::Settings),
    /// An adapter in any language.
    Plugin(PluginConfig),
    /// A RunPod account.
    Runpod(RunpodConfig),
    /// A Vast.ai account.
    Vast(VastConfig),
}

/// The providers by name.
pub(crate) type Providers = BTreeMap<String, ProviderConfig>;

/// Every `[providers.NAME]` of the configuration.
///
/// # Errors
/// Every mistake, each with its key and what is allowed.
pub(crate) fn read(document: &Value) -> Result<Providers, FieldErrors> {
    let Some(section) = document.get("providers").filter(|value| !value.is_null()) else {
        return Ok(Providers::new());
    };
    let mistakes = Mistakes::default();
    let mut providers = Providers::new();
    if let Some(section) = Object::root("providers", section, &mistakes) {
        for name in section.keys() {
            if !is_dns_label(name) || [DOCKER, FLEET].contains(&name.as_str()) {
                section.wrong(name, "must be a DNS label other than docker and fleet");
            } else if let Some(config) = section.entry(name).and_then(provider) {
                providers.insert(name.clone(), config);
            }
        }
    }
    mistakes.into_inner().into_result(providers)
}

fn provider(section: Object<'_>) -> Option<ProviderConfig> {
    #[derive(Clone, Copy)]
    enum Kind {
        Sim,
        Plugin,
        Runpod,
        Vast,
    }
    let kinds = [
        ("sim", Kind::Sim),
        ("plugin", Kind::Plugin),
        ("runpod", Kind::Runpod),
        ("vast", Kind::Vast),
    ];
    if section.value("kind").is_none() {
        let names = kinds.map(|(name, _)| name).join(", ");
        section.wrong("kind", format!("is required: one of {names}"));
    }
    let config = match section.choice("kind", &kinds)? {
        Kind::Sim => Some(ProviderConfig::Sim(super::sim::read(&section))),
        Kind::Plugin => PluginConfig::read(&section).map(ProviderConfig::Plugin),
        Kind::Runpod => Some(ProviderConfig::Runpod(RunpodConfig::read(&section))),
        Kind::Vast => Some(ProviderConfig::Vast(VastConfig::read(&section))),
    };
    section.finish();
    config
}

#[cfg(test)]
mod tests;
