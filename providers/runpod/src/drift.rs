//! What the platform changes behind our back: an endpoint that nobody used for
//! days has its most workers lowered, at last to none.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_policy::Moment;
use thermocline_provider::cloud::Marks;

use crate::account::Account;
use crate::id::usable;
use crate::said::Thing;

/// Between two repairs of one endpoint.
const PAUSE: Duration = Duration::from_secs(60);

/// When each endpoint was repaired last.
#[derive(Debug, Default)]
pub(crate) struct Repairs(Mutex<HashMap<String, Moment>>);

impl Repairs {
    /// Raises the most workers of `endpoint` where they were lowered.
    pub(crate) async fn look(&self, account: &Account, endpoint: &Thing, marks: &Marks) {
        let Some((min, max)) = repaired(endpoint, marks) else {
            return;
        };
        let Some(id) = usable(&endpoint.id).filter(|id| self.is_due(id, account.clock.now()))
        else {
            return;
        };
        let body = json!({ "workers": { "min": min, "max": max } });
        let path = ["serverless", id];
        match account.write::<Value>(Method::PATCH, &path, &body).await {
            Ok(_) => tracing::warn!(
                endpoint = id,
                max,
                "RunPod had lowered its most workers; raised again"
            ),
            Err(failed) => {
                tracing::warn!(endpoint = id, error = %failed.error, "its most workers could not be raised again")
            }
        }
    }

    fn is_due(&self, id: &str, now: Moment) -> bool {
        let mut last = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        last.retain(|_, at| now.since(*at) < PAUSE);
        match last.contains_key(id) {
            true => false,
            false => last.insert(id.to_owned(), now).is_none(),
        }
    }
}

/// The bounds that `endpoint` should have, when it has not.
fn repaired(endpoint: &Thing, marks: &Marks) -> Option<(u32, u32)> {
    let (is, wanted) = (endpoint.workers?, marks.workers?.max(1));
    (is.max < wanted).then_some((is.min.min(wanted), wanted))
}
