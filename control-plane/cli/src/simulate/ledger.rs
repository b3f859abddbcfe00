use std::time::Duration;

use serde::Deserialize;
use thermocline_simulate::{Ledger, SlotCount};
use thermocline_wire::rfc3339;

use crate::failure::Failure;
use crate::session::Session;

/// What the server counted: arrivals by slots.
#[derive(Debug, Deserialize)]
struct Counted {
    slot_s: u64,
    items: Vec<Slot>,
}

#[derive(Debug, Deserialize)]
struct Slot {
    deployment: String,
    slot: u64,
    arrivals: u64,
}

/// What came at the server within `since` until now.
///
/// # Errors
/// Those of the call; a mistake, when nothing came.
pub(super) async fn fetch(session: &Session, since: Duration) -> Result<Ledger, Failure> {
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    let from = rfc3339(session.clock.wall_micros().saturating_sub(micros));
    let query = [("from", from.as_str())];
    let client = &session.client;
    let document = client.get_where(&["costs", "arrivals"], &query).await?;
    let counted: Counted = client.view(&document)?;
    if counted.items.is_empty() {
        return Err(Failure::mistake("the ledger holds no arrival of that time"));
    }
    let counts = counted.items.into_iter().map(|item| SlotCount {
        slot: item.slot,
        deployment: item.deployment,
        arrivals: item.arrivals,
    });
    let slot = Duration::from_secs(counted.slot_s);
    Ok(Ledger::new(slot, counts.collect()))
}
