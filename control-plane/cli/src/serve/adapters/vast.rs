use serde_json::Value;
use thermocline_provider::cloud::Keyed;
use thermocline_vast::{Account, Settings, Spacing, VastProvider};
use thermocline_wire::reader::{Object, number, text};

use super::Surroundings;
use super::accounts::Accounts;
use super::key::{KeySource, url};
use crate::failure::Failure;

/// The variable that holds the key when nothing else is said.
pub(super) const KEY: &str = "VAST_API_KEY";
/// The API, unless the configuration says otherwise.
const API: &str = "https://console.vast.ai";
/// Vast.ai gives no smaller disk, GB.
const LEAST_DISK: u32 = 8;

/// Keys of `kind = "vast"`.
#[derive(Debug, Clone)]
pub(crate) struct VastConfig {
    key: KeySource,
    base_url: String,
    settings: Settings,
}

impl VastConfig {
    pub(super) fn read(section: &Object<'_>) -> Self {
        let usual = Settings::default();
        VastConfig {
            key: KeySource::read(section, KEY),
            base_url: section
                .read("base_url", |value| url(value, &[]))
                .unwrap_or_else(|| API.to_owned()),
            settings: Settings {
                disk_gb: section
                    .whole("disk_gb", LEAST_DISK..=100_000)
                    .unwrap_or(usual.disk_gb),
                verified: section.flag("verified").unwrap_or(usual.verified),
                reliability: section
                    .read("reliability", share)
                    .unwrap_or(usual.reliability),
                countries: section.list("countries", country).unwrap_or_default(),
                bid: section.read("bid", times),
            },
        }
    }
}

fn share(value: &Value) -> Result<f64, String> {
    let share = number(value)?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err("must be 0 to 1".to_owned()),
    }
}

fn times(value: &Value) -> Result<f64, String> {
    let times = number(value)?;
    match (1.0..=10.0).contains(&times) {
        true => Ok(times),
        false => Err("must be 1 to 10: how many times the least bid".to_owned()),
    }
}

fn country(value: &Value) -> Result<String, String> {
    let country = text(value)?;
    match country.len() == 2 && country.bytes().all(|b| b.is_ascii_uppercase()) {
        true => Ok(country),
        false => Err("must be the two letters of a country, as SE".to_owned()),
    }
}

/// The provider `name`.
pub(super) fn adapter(
    name: &str,
    config: &VastConfig,
    accounts: &mut Accounts<Account>,
    with: &Surroundings<'_>,
) -> Result<Keyed<VastProvider>, Failure> {
    let mistake = |error| Failure::mistake(format!("providers.{name}: {error}"));
    let (key, url) = (config.key.key(name, with.redaction)?, &config.base_url);
    let open = |key| Account::new(key, url, with.clock.clone(), Spacing::default());
    let account = accounts.get(key, url, open).map_err(mistake)?;
    let provider = VastProvider::new(account, config.settings.clone());
    Ok(Keyed::new(provider, config.key.origin(name)))
}
