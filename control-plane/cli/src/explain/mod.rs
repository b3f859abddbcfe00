//! `explain`: a decision in words, with the numbers that made it.

mod known;
mod money;
mod next;
mod past;
mod prose;
mod words;

use crate::args::Explain;
use crate::client::Client;
use crate::document::Document;
use crate::failure::Failure;
use crate::session::Session;
use crate::view::{Decision, Id};

/// Prints why a deployment is, or was, served by its tier.
///
/// # Errors
/// Not found, for the deployment or the decision; those of the calls.
pub(crate) async fn run(session: &Session, args: &Explain) -> Result<(), Failure> {
    let client = &session.client;
    let document = match &args.decision {
        Some(id) => find(client, &args.name, id).await?,
        None => client.get(&["deployments", &args.name, "decision"]).await?,
    };
    let decision: Decision = client.view(&document)?;
    let tell: fn(&str, &Decision) -> String = match args.decision {
        Some(_) => past::tell,
        None => prose::tell,
    };
    session.show(&document, || Ok(tell(&args.name, &decision)))
}

async fn find(client: &Client, name: &str, id: &str) -> Result<Document, Failure> {
    let decisions = client.get_all(&["deployments", name, "decisions"]).await?;
    let mut items = decisions.items().into_iter().map(Document::from);
    let is_it = |item: &Document| {
        item.field("id")
            .view::<Id>()
            .is_ok_and(|it| it.to_string() == id)
    };
    items
        .find(is_it)
        .ok_or_else(|| Failure::not_found(format!("{name} has no decision {id}")))
}
