//! The changes of tier, as they happen.

use serde::Deserialize;
use thermocline_clock::Clock;
use thermocline_policy::Moment;

use crate::client::Client;
use crate::document::Document;
use crate::events::sse::Parser;
use crate::failure::Failure;
use crate::output::{plain, print};

/// An event, as far as it is about a change of tier.
#[derive(Debug, Deserialize)]
struct Change {
    kind: String,
    deployment: Option<String>,
    from: Option<String>,
    to: Option<String>,
    reason: Option<String>,
    rps: Option<f64>,
}

/// Prints a line for each change of tier, until the server ends the stream.
///
/// # Errors
/// Those of the call, and when stdout cannot be written.
pub(crate) async fn tell(client: &Client, clock: &Clock, began: Moment) -> Result<(), Failure> {
    let mut stream = client.events(None).await?;
    let mut parser = Parser::default();
    while let Some(bytes) = stream.chunk().await.map_err(|e| client.transport(&e))? {
        for message in parser.push(&bytes) {
            let document = Document::from_json(message.data.as_bytes()).ok();
            let change = document.and_then(|document| document.view::<Change>().ok());
            if let Some(line) = change.as_ref().and_then(line) {
                print(&format!("{} {}", stamp(clock, began), plain(&line)))?;
            }
        }
    }
    Err(Failure::fault("the event stream ended"))
}

fn line(change: &Change) -> Option<String> {
    if change.kind != "transition" {
        return None;
    }
    Some(format!(
        "{}: {} -> {} ({}, {:.2} requests per second)",
        change.deployment.as_deref()?,
        change.from.as_deref()?,
        change.to.as_deref()?,
        change.reason.as_deref()?,
        change.rps?,
    ))
}

/// How long the demo runs, seconds, as lines begin with it.
pub(crate) fn stamp(clock: &Clock, began: Moment) -> String {
    format!("[{:6.1}s]", clock.now().since(began).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(event: &str) -> Option<String> {
        let document = Document::from_json(event.as_bytes()).unwrap();
        line(&document.view().unwrap())
    }

    #[test]
    fn a_change_is_told_with_its_reason_and_nothing_else_is() {
        let change = r#"{"id":3,"kind":"transition","deployment":"chat","from":"serverless",
            "to":"pod","reason":"promote","rps":1.583}"#;
        assert_eq!(
            told(change).as_deref(),
            Some("chat: serverless -> pod (promote, 1.58 requests per second)")
        );
        assert_eq!(
            told(r#"{"kind":"instance.ready","deployment":"chat"}"#),
            None
        );
    }
}
