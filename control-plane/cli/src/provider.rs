//! `provider`: who sells capacity, how they are, what they sell, and whether an
//! adapter does as it must.

mod offers;
mod test;

use crate::failure::Failure;
use crate::output::{self, or_nothing, table};
use crate::session::Session;
use crate::view::{List, Provider};

pub(crate) use offers::offers;
pub(crate) use test::test;

/// Prints every provider on a line.
///
/// # Errors
/// Those of the call.
pub(crate) async fn list(session: &Session) -> Result<(), Failure> {
    let document = session.client.get_all(&["providers"]).await?;
    let list: List<Provider> = session.client.view(&document)?;
    if list.items.is_empty() {
        output::note("no providers; the server's configuration names them");
        return session.show(&document, || Ok(String::new()));
    }
    let columns = ["NAME", "KIND", "HEALTH", "RATE-LIMITED UNTIL", "LAST ERROR"];
    session.show(&document, || {
        Ok(table(&columns, list.items.iter().map(row)))
    })
}

fn row(provider: &Provider) -> Vec<String> {
    vec![
        provider.name.clone(),
        or_nothing(provider.kind.as_deref()),
        provider.health.clone(),
        or_nothing(provider.rate_limited_until.as_deref()),
        or_nothing(trouble(provider)),
    ]
}

/// What is wrong with it, and since when where that is known.
fn trouble(provider: &Provider) -> Option<String> {
    let error = provider.last_error.as_deref()?;
    Some(match &provider.unanswered_since {
        Some(since) => format!("no answer since {since}: {error}"),
        None => error.to_owned(),
    })
}
