//! `wake`, `sleep` and `delete`: ask for a state, then watch until it is reached.

use std::time::Duration;

use thermocline_policy::{Moment, format_duration};
use yaml_serde::{Mapping, Value};

use crate::args::Awaited;
use crate::client::CallError;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, or_nothing};
use crate::session::Session;
use crate::view::{Deployment, Status};

/// How often the state is asked for.
const POLL: Duration = Duration::from_millis(500);

/// Warms a deployment up.
///
/// # Errors
/// A fault when it fails to start, a timeout, and those of the calls.
pub(crate) async fn wake(session: &Session, args: &Awaited) -> Result<(), Failure> {
    change(session, args, "wake", "running", &["failed"]).await
}

/// Stops a deployment after the work in hand.
///
/// # Errors
/// A timeout, and those of the calls.
pub(crate) async fn sleep(session: &Session, args: &Awaited) -> Result<(), Failure> {
    change(session, args, "sleep", "stopped", &[]).await
}

/// Deletes a deployment and waits until its absence is confirmed.
///
/// # Errors
/// A timeout, with what stands in the way; those of the calls.
pub(crate) async fn delete(session: &Session, args: &Awaited) -> Result<(), Failure> {
    let path = ["deployments", &args.name];
    let document = session.client.get(&path).await?;
    let deployment: Deployment = session.client.view(&document)?;
    let answer = session.client.delete(&path).await?;
    output::note(&torn_down(&deployment));
    if args.no_wait {
        return session.show(&answer, || Ok(format!("{} is being deleted", args.name)));
    }
    let mut watch = Watch::new(session, args);
    loop {
        match watch.look().await {
            Ok(_) => watch.pause("deleted").await?,
            Err(error) if error.is_not_found() => return deleted(session, &args.name),
            Err(error) => return Err(error.into()),
        }
    }
}

fn deleted(session: &Session, name: &str) -> Result<(), Failure> {
    let mut document = Mapping::new();
    document.insert("name".into(), name.into());
    document.insert("deleted".into(), true.into());
    let document = Document::from(Value::Mapping(document));
    session.show(&document, || Ok(format!("{name} deleted")))
}

fn torn_down(deployment: &Deployment) -> String {
    let instances = &deployment.status.instances;
    let each = instances.iter().map(|instance| {
        let provider = or_nothing(instance.provider.as_deref());
        format!("{} {} at {provider}", instance.tier, instance.id)
    });
    match instances.is_empty() {
        true => format!("deleting {}: nothing runs for it", deployment.name),
        false => format!(
            "deleting {}: {}",
            deployment.name,
            each.collect::<Vec<_>>().join(", ")
        ),
    }
}

async fn change(
    session: &Session,
    args: &Awaited,
    verb: &str,
    wanted: &str,
    lost: &[&str],
) -> Result<(), Failure> {
    let answer = session
        .client
        .post(&["deployments", &args.name, verb])
        .await?;
    if args.no_wait {
        return session.show(&answer, || Ok(format!("{}: asked to {verb}", args.name)));
    }
    let mut watch = Watch::new(session, args);
    loop {
        let (document, status) = watch.look().await?;
        if status.state == wanted {
            return session.show(&document, || Ok(reached(&args.name, &status)));
        }
        if lost.contains(&status.state.as_str()) || status.state == "deleting" {
            return Err(Failure::fault(format!(
                "{} is {}: {}",
                args.name,
                status.state,
                status.cause()
            )));
        }
        watch.pause(wanted).await?;
    }
}

fn reached(name: &str, status: &Status) -> String {
    match status.tier {
        Some(tier) if status.state == "running" => format!("{name} is running on {tier}"),
        _ => format!("{name} is {}", status.state),
    }
}

/// Looks at a deployment again and again, telling each new state once.
struct Watch<'a> {
    session: &'a Session,
    name: &'a str,
    timeout: Duration,
    deadline: Moment,
    told: String,
}

impl<'a> Watch<'a> {
    fn new(session: &'a Session, args: &'a Awaited) -> Self {
        Watch {
            session,
            name: &args.name,
            timeout: args.timeout,
            deadline: session.clock.now() + args.timeout,
            told: String::new(),
        }
    }

    async fn look(&mut self) -> Result<(Document, Status), CallError> {
        let client = &self.session.client;
        let document = client.get(&["deployments", self.name]).await?;
        let deployment: Deployment = client.view(&document)?;
        self.tell(&deployment.status);
        Ok((document, deployment.status))
    }

    fn tell(&mut self, status: &Status) {
        let news = match &status.last_error {
            Some(error) => format!("{}: {} ({error})", self.name, status.state),
            None => format!("{}: {}", self.name, status.state),
        };
        if news != self.told {
            output::note(&news);
            self.told = news;
        }
    }

    /// Waits for the next look, unless the time is up.
    async fn pause(&self, wanted: &str) -> Result<(), Failure> {
        let clock = &self.session.clock;
        let next = clock.now() + POLL;
        clock.sleep_until(next.min(self.deadline)).await;
        if next < self.deadline {
            return Ok(());
        }
        let within = format_duration(self.timeout);
        Err(Failure::timeout(format!(
            "{} is not {wanted} after {within}; last seen as {}",
            self.name, self.told
        )))
    }
}
