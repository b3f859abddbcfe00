use std::collections::HashMap;
use std::sync::Arc;

use thermocline_clock::Clock;
use thermocline_runpod::{Account, Cloud, EndpointType, RunpodProvider, Settings};
use thermocline_server::{KeySource, RunpodConfig};

use crate::failure::Failure;

/// The control API, unless the configuration says otherwise.
const API: &str = "https://api.runpod.io";

/// One account for each key, however many providers use it: its rate limits are one.
#[derive(Default)]
pub(super) struct Accounts(HashMap<(String, String), Arc<Account>>);

impl Accounts {
    /// The provider `name`.
    pub(super) async fn adapter(
        &mut self,
        name: &str,
        config: &RunpodConfig,
        clock: &Clock,
    ) -> Result<RunpodProvider, Failure> {
        let mistake = |error| Failure::mistake(format!("providers.{name}: {error}"));
        let key = key(name, &config.key)?;
        let api = config.api_url.clone().unwrap_or_else(|| API.to_owned());
        let account = match self.0.get(&(key.clone(), api.clone())) {
            Some(account) => account.clone(),
            None => {
                let account = Account::new(key.clone(), &api, clock.clone()).map_err(mistake)?;
                self.0
                    .entry((key, api))
                    .or_insert(Arc::new(account))
                    .clone()
            }
        };
        RunpodProvider::connect(account, settings(config))
            .await
            .map_err(mistake)
    }
}

fn key(name: &str, source: &KeySource) -> Result<String, Failure> {
    let (field, found) = match source {
        KeySource::Env(variable) => ("api_key_env", std::env::var(variable).ok()),
        KeySource::File(file) => ("api_key_file", std::fs::read_to_string(file).ok()),
    };
    let key = found
        .map(|key| key.trim().to_owned())
        .filter(|key| !key.is_empty());
    key.ok_or_else(|| {
        let what = match source {
            KeySource::Env(variable) => format!("{variable} is not set"),
            KeySource::File(_) => "the file cannot be read, or is empty".to_owned(),
        };
        Failure::mistake(format!("providers.{name}.{field}: {what}"))
    })
}

fn settings(config: &RunpodConfig) -> Settings {
    let usual = Settings::default();
    let or = |given: &Option<String>, usual: String| given.clone().unwrap_or(usual);
    Settings {
        job_url: or(&config.job_url, usual.job_url),
        pod_url: or(&config.pod_url, usual.pod_url),
        endpoint_url: or(&config.endpoint_url, usual.endpoint_url),
        endpoint_type: match config.queue {
            true => EndpointType::Queue,
            false => EndpointType::LoadBalancer,
        },
        cloud: match config.community {
            true => Cloud::Community,
            false => Cloud::Secure,
        },
        data_centers: config.data_centers.clone(),
        disk_gb: config.disk_gb.unwrap_or(usual.disk_gb),
        requests_per_worker: config
            .requests_per_worker
            .unwrap_or(usual.requests_per_worker),
        job_timeout: config.job_timeout.unwrap_or(usual.job_timeout),
        job_listen: config.job_listen.unwrap_or(usual.job_listen),
    }
}
