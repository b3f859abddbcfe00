use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use thermocline_policy::{Moment, format_duration};

use super::Replay;
use super::view::Letter;
use crate::document::Document;
use crate::failure::Failure;
use crate::session::Session;

/// How often a letter is asked for.
const POLL: Duration = Duration::from_millis(500);

/// What the replay of a group is answered with.
#[derive(Debug, Deserialize)]
struct Begun {
    replaying: u64,
    left: u64,
    /// Seconds between two of them.
    pace_s: f64,
}

/// Replays what was named.
///
/// # Errors
/// Refused with the reason; a fault when one failed again; a timeout.
pub(super) async fn run(session: &Session, args: &Replay) -> Result<(), Failure> {
    if let Some(fingerprint) = &args.fingerprint {
        return group(session, fingerprint).await;
    }
    for id in &args.ids {
        let path = ["fleet", "dead-letters", id, "replay"];
        let answer = session.client.post(&path).await?;
        if args.no_wait {
            session.show(&answer, || Ok(format!("{id} is being replayed")))?;
        }
    }
    if args.no_wait {
        return Ok(());
    }
    let deadline = session.clock.now() + args.timeout;
    let mut failed = Vec::new();
    for id in &args.ids {
        let (document, letter) = ended(session, id, deadline, args.timeout).await?;
        let outcome = letter.outcome.as_ref();
        let result = outcome.map_or_else(|| letter.state.clone(), |it| it.sentence());
        session.show(&document, || Ok(format!("{id}: {result}")))?;
        if !outcome.is_some_and(|it| it.is_answered()) {
            failed.push(format!("the replay of {id} ended: {result}"));
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::fault(failed.join("\n"))),
    }
}

async fn group(session: &Session, fingerprint: &str) -> Result<(), Failure> {
    let path = ["fleet", "dead-letters", "replay"];
    let body = json!({ "fingerprint": fingerprint });
    let answer = session.client.post_with(&path, &body).await?;
    let begun: Begun = session.client.view(&answer)?;
    session.show(&answer, || {
        let Begun {
            replaying,
            left,
            pace_s,
        } = begun;
        Ok(format!(
            "{replaying} are being replayed, one each {pace_s} s; {left} are left as they are"
        ))
    })
}

/// The letter once it is replayed no more.
async fn ended(
    session: &Session,
    id: &str,
    deadline: Moment,
    timeout: Duration,
) -> Result<(Document, Letter), Failure> {
    loop {
        let path = ["fleet", "dead-letters", id];
        let document = session.client.get(&path).await?;
        let letter: Letter = session.client.view(&document)?;
        if letter.state != "replaying" {
            return Ok((document, letter));
        }
        if session.clock.now() >= deadline {
            let waited = format_duration(timeout);
            return Err(Failure::timeout(format!(
                "{id} is still being replayed after {waited}; it goes on"
            )));
        }
        session.clock.sleep(POLL).await;
    }
}
