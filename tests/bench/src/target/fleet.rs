//! All targets of a run, started together and ended together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::origin::OriginProcess;
use super::place::Place;
use super::{Choice, DIRECT, HAPROXY, NGINX, THERMOCLINE, Target, haproxy, nginx, thermocline};
use crate::error::BenchError;
use crate::kind::Kind;
use crate::load::{Fault, Load};
use crate::process::{Group, find};
use crate::time;

/// How often and how long a target is asked whether it is ready.
const ATTEMPTS: u32 = 200;
const BETWEEN: Duration = Duration::from_millis(50);

/// Running targets; dropping it ends the processes, then removes their files.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) targets: Vec<Target>,
    groups: Vec<Group>,
    place: Place,
    origin: OriginProcess,
}

impl Fleet {
    /// Starts what `choice` names and waits until all of it answers.
    /// A program that is not there is left out, with a word on stderr.
    pub(crate) async fn start(choice: &Choice) -> Result<Self, BenchError> {
        let origin = OriginProcess::start(choice.origin).await?;
        let place = Place::new()?;
        let mut fleet = Fleet {
            targets: Vec::new(),
            groups: Vec::new(),
            place,
            origin,
        };
        fleet.add_direct(choice);
        fleet.add_nginx(choice).await?;
        fleet.add_haproxy(choice).await?;
        fleet.add_thermocline(choice).await?;
        fleet.add_peers(choice).await?;
        if fleet.targets.is_empty() {
            Err(BenchError::Nothing("target"))
        } else {
            Ok(fleet)
        }
    }

    fn add_direct(&mut self, choice: &Choice) {
        if choice.wants(DIRECT) {
            let address = self.origin.address;
            self.targets.push(Target {
                name: DIRECT.into(),
                address,
                prefix: String::new(),
                root: None,
            });
        }
    }

    async fn add_nginx(&mut self, choice: &Choice) -> Result<(), BenchError> {
        let Some(program) = program(choice, NGINX, &choice.nginx) else {
            return Ok(());
        };
        self.add(nginx::start(&program, self.origin.address, &self.place)?)
            .await
    }

    async fn add_haproxy(&mut self, choice: &Choice) -> Result<(), BenchError> {
        let Some(program) = program(choice, HAPROXY, &choice.haproxy) else {
            return Ok(());
        };
        self.add(haproxy::start(&program, self.origin.address, &self.place)?)
            .await
    }

    async fn add_thermocline(&mut self, choice: &Choice) -> Result<(), BenchError> {
        let Some(program) = program(choice, THERMOCLINE, &choice.thermocline) else {
            return Ok(());
        };
        self.add(thermocline::start(&program, self.origin.address, &self.place).await?)
            .await
    }

    async fn add_peers(&mut self, choice: &Choice) -> Result<(), BenchError> {
        for peer in choice.peer.iter().filter(|peer| choice.wants(&peer.name)) {
            let target = peer.target();
            let failures = probe(&target).await.failures();
            if failures > 0 {
                return Err(BenchError::NotReady {
                    name: target.name,
                    log: String::new(),
                });
            }
            self.targets.push(target);
        }
        Ok(())
    }

    async fn add(&mut self, started: (Target, Group)) -> Result<(), BenchError> {
        let (target, mut group) = started;
        let answers = async || Ok(probe(&target).await.failures() == 0);
        until_ready(&target.name, &mut group, &self.place, answers).await?;
        self.targets.push(target);
        self.groups.push(group);
        Ok(())
    }
}

/// The program of a target that is wanted and installed.
fn program(choice: &Choice, name: &str, program: &Path) -> Option<PathBuf> {
    let wanted = choice.wants(name);
    let found = find(program).filter(|_| wanted);
    if wanted && found.is_none() {
        eprintln!("{name}: not found, left out");
    }
    found
}

/// One small request, checked like every other.
async fn probe(target: &Target) -> crate::load::Tally {
    Load::new(target.address, &target.prefix, Kind::Post(200), 1)
        .slot(Duration::ZERO)
        .await
}

/// Waits until `ready` says so; fails with the log if the process ends or takes too long.
pub(super) async fn until_ready(
    name: &str,
    group: &mut Group,
    place: &Place,
    ready: impl AsyncFn() -> Result<bool, Fault>,
) -> Result<(), BenchError> {
    for _ in 0..ATTEMPTS {
        if ready().await == Ok(true) {
            return Ok(());
        }
        if group.has_ended() {
            break;
        }
        time::pause(BETWEEN).await;
    }
    Err(BenchError::NotReady {
        name: name.to_owned(),
        log: place.log(name),
    })
}
