use std::sync::Arc;

use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_fleet::{Account, Fleet, Settings};
use thermocline_server::{FleetConfig, FleetWorker, Redaction, TokenSource};

use crate::failure::Failure;

/// The shared fleet; it exists by itself, and listens for workers as soon as
/// the configuration speaks of it or a deployment names it.
pub(super) async fn adapter(
    config: &FleetConfig,
    broker: Arc<dyn Broker>,
    clock: &Clock,
    redaction: &Redaction,
) -> Result<Fleet, Failure> {
    let workers = config.workers.iter();
    let accounts: Result<Vec<Account>, Failure> =
        workers.map(|worker| account(worker, redaction)).collect();
    let settings = Settings {
        listen: config.listen,
        advertise: config.advertise.clone(),
        listen_at_once: config.given,
        max_payload: config.max_payload,
        max_parked: config.max_parked as usize,
        max_parked_bytes: config.max_parked_bytes,
        accounts: accounts?,
        ..Settings::default()
    };
    let fleet = Fleet::connect(settings, broker, clock.clone()).await;
    let fleet = fleet.map_err(|error| {
        Failure::fault(format!("fleet.listen {}: {}", config.listen, error.detail))
    })?;
    redaction.hide(&fleet.own_worker().token);
    Ok(fleet)
}

fn account(worker: &FleetWorker, redaction: &Redaction) -> Result<Account, Failure> {
    let (field, found) = match &worker.token {
        TokenSource::Env(variable) => ("token_env", std::env::var(variable).ok()),
        TokenSource::File(file) => ("token_file", std::fs::read_to_string(file).ok()),
    };
    let token = found
        .map(|token| token.trim().to_owned())
        .filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| {
        let what = match &worker.token {
            TokenSource::Env(variable) => format!("{variable} is not set"),
            TokenSource::File(_) => "the file cannot be read, or is empty".to_owned(),
        };
        Failure::mistake(format!("fleet.workers.{}.{field}: {what}", worker.name))
    })?;
    redaction.hide(&token);
    Ok(Account::new(&worker.name, &token, worker.may_pull.clone()))
}
