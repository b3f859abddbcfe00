use std::sync::RwLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thermocline_policy::FieldErrors;

/// How the simulated cloud behaves; durations are written with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How long a pod takes from its create until it is ready.
    #[serde(with = "duration_text")]
    pub pod_boot: Duration,
    /// How long a serverless worker takes to start.
    #[serde(with = "duration_text")]
    pub cold_start: Duration,
    /// How long a request takes.
    #[serde(with = "duration_text")]
    pub service_time: Duration,
    /// The price of a pod while it exists, dollars an hour; finite, at least 0.
    pub usd_per_hour: f64,
    /// The price of a serverless worker's work, dollars a second; finite, at least 0.
    pub usd_per_second: f64,
    /// The most pods, over all owners.
    pub capacity: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            pod_boot: Duration::from_secs(3),
            cold_start: Duration::from_secs(1),
            service_time: Duration::from_millis(50),
            usd_per_hour: 1.2,
            usd_per_second: 0.0006,
            capacity: 4,
        }
    }
}

impl Settings {
    /// Itself, when its prices are sums of money.
    ///
    /// # Errors
    /// Every field that is not in its range.
    pub fn validated(self) -> Result<Settings, FieldErrors> {
        let mut errors = FieldErrors::default();
        let prices = [
            ("usd_per_hour", self.usd_per_hour),
            ("usd_per_second", self.usd_per_second),
        ];
        for (field, price) in prices {
            if !price.is_finite() || price < 0.0 {
                errors.push(field, "must be a finite number, at least 0");
            }
        }
        errors.into_result(self)
    }
}

/// Settings that may change while instances run.
#[derive(Debug, Default)]
pub(crate) struct LiveSettings(RwLock<Settings>);

impl LiveSettings {
    pub(crate) fn new(settings: Settings) -> Self {
        LiveSettings(RwLock::new(settings))
    }

    pub(crate) fn get(&self) -> Settings {
        *self
            .0
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn set(&self, settings: Settings) {
        *self
            .0
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = settings;
    }
}

mod duration_text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use thermocline_policy::{format_duration, parse_duration};

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_duration(*value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        parse_duration(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_way_to_the_process() {
        let settings = Settings {
            pod_boot: Duration::from_millis(1_500),
            ..Settings::default()
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(
            serde_json::from_str::<Settings>("{}").unwrap(),
            Settings::default()
        );
        assert!(serde_json::from_str::<Settings>(r#"{"pod_boot":"3"}"#).is_err());
        assert!(serde_json::from_str::<Settings>(r#"{"pod_bot":"3s"}"#).is_err());
    }

    #[test]
    fn prices_are_sums_of_money() {
        let odd = Settings {
            usd_per_hour: f64::NAN,
            usd_per_second: -1.0,
            ..Settings::default()
        };
        assert_eq!(odd.validated().unwrap_err().as_slice().len(), 2);
        assert!(Settings::default().validated().is_ok());
    }
}
