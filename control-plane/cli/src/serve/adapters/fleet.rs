use std::sync::Arc;

use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_fleet::{Account, Fleet, Settings};
use thermocline_server::{FleetConfig, FleetWorker, Redaction, TokenSource};

use super::super::source::Source;
use crate::failure::Failure;

/// The shared fleet; it exists by itself, and listens for workers as soon as
/// the configuration speaks of it or a deployment names it.
pub(super) async fn adapter(
    config: &FleetConfig,
    broker: Arc<dyn Broker>,
    clock: &Clock,
    redaction: &Redaction,
) -> Result<Fleet, Failure> {
    let accounts = accounts(&config.workers, redaction)?;
    let settings = Settings {
        listen: config.listen,
        advertise: config.advertise.clone(),
        listen_at_once: config.given,
        max_payload: config.max_payload,
        max_parked: config.max_parked as usize,
        max_parked_bytes: config.max_parked_bytes,
        pool: config.pool.is_some(),
        accounts,
        ..Settings::default()
    };
    let fleet = Fleet::connect(settings, broker, clock.clone()).await;
    let fleet = fleet.map_err(|error| {
        Failure::fault(format!("fleet.listen {}: {}", config.listen, error.detail))
    })?;
    redaction.hide(&fleet.own_worker().token);
    Ok(fleet)
}

/// Each credential's account.
fn accounts(workers: &[FleetWorker], redaction: &Redaction) -> Result<Vec<Account>, Failure> {
    let account = |worker: &FleetWorker| {
        let token = token(worker)?;
        redaction.hide(&token);
        Ok(Account::new(&worker.name, &token, worker.may_pull.clone()))
    };
    workers.iter().map(account).collect()
}

fn token(worker: &FleetWorker) -> Result<String, Failure> {
    let (field, source) = match &worker.token {
        TokenSource::Env(variable) => ("token_env", Source::Variable(variable)),
        TokenSource::File(file) => ("token_file", Source::File(file)),
    };
    let wrong = |what| Failure::mistake(format!("fleet.workers.{}.{field}: {what}", worker.name));
    source.read().map_err(wrong)
}
