use std::collections::HashMap;
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
    let accounts = accounts(&config.workers, redaction)?;
    let settings = Settings {
        listen: config.listen,
        advertise: config.advertise.clone(),
        listen_at_once: config.given,
        max_payload: config.max_payload,
        max_parked: config.max_parked as usize,
        max_parked_bytes: config.max_parked_bytes,
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

/// Each credential's account. One token for two would say neither whose it is
/// nor what it may pull.
fn accounts(workers: &[FleetWorker], redaction: &Redaction) -> Result<Vec<Account>, Failure> {
    let mut owners: HashMap<String, &str> = HashMap::new();
    let mut accounts = Vec::new();
    for worker in workers {
        let token = token(worker)?;
        redaction.hide(&token);
        accounts.push(Account::new(&worker.name, &token, worker.may_pull.clone()));
        if let Some(other) = owners.insert(token, &worker.name) {
            let name = &worker.name;
            let why = format!("fleet.workers.{name}: its token is that of fleet.workers.{other}");
            return Err(Failure::mistake(why));
        }
    }
    Ok(accounts)
}

fn token(worker: &FleetWorker) -> Result<String, Failure> {
    let (field, found) = match &worker.token {
        TokenSource::Env(variable) => ("token_env", std::env::var(variable).ok()),
        TokenSource::File(file) => ("token_file", std::fs::read_to_string(file).ok()),
    };
    let token = found
        .map(|token| token.trim().to_owned())
        .filter(|token| !token.is_empty());
    token.ok_or_else(|| {
        let what = match &worker.token {
            TokenSource::Env(variable) => format!("{variable} is not set"),
            TokenSource::File(_) => "the file cannot be read, or is empty".to_owned(),
        };
        Failure::mistake(format!("fleet.workers.{}.{field}: {what}", worker.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_credential_s_alone() {
        let folder = tempfile::tempdir().unwrap();
        let worker = |name: &str, token: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, token).unwrap();
            FleetWorker {
                name: name.to_owned(),
                token: TokenSource::File(file),
                may_pull: Vec::new(),
            }
        };
        let told =
            |workers: &[FleetWorker]| accounts(workers, &Redaction::default()).map(|all| all.len());
        assert_eq!(told(&[worker("a", "one"), worker("b", "two")]).unwrap(), 2);
        let twice = told(&[worker("a", "one"), worker("b", "one\n")]).unwrap_err();
        assert!(
            twice
                .to_string()
                .contains("fleet.workers.b: its token is that of fleet.workers.a"),
            "{twice}"
        );
    }
}
