//! Everything in the account, in lists that calls share: a list costs as much
//! time as a look at one instance, and answers for all of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Method;
use thermocline_provider::ProviderError;

use crate::account::Account;
use crate::call::Call;
use crate::error::unavailable;
use crate::pace::Lane;
use crate::said::{Page, Record};

/// Instances on a page; the most that the service gives.
const PAGE: &str = "25";
/// Pages after which a list is taken for endless.
const MOST_PAGES: usize = 1_000;

/// A whole list, or why there is none.
type Counted = Result<Arc<Vec<Record>>, ProviderError>;

/// The lists of one account, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// How many lists have begun.
    begun: AtomicU64,
    /// The last one, and the how manieth it was.
    last: tokio::sync::Mutex<Option<(u64, Counted)>>,
}

impl Census {
    /// Every instance in the account, in a list that begins after this call.
    pub(crate) async fn take(&self, account: &Account) -> Counted {
        let before = self.begun.load(Ordering::Acquire);
        let mut last = self.last.lock().await;
        if let Some((serial, counted)) = last.as_ref()
            && *serial > before
        {
            return counted.clone();
        }
        let serial = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let counted = all(account).await.map(Arc::new);
        *last = Some((serial, counted.clone()));
        counted
    }
}

/// Every page of the list.
async fn all(account: &Account) -> Result<Vec<Record>, ProviderError> {
    let (mut records, mut tokens) = (Vec::new(), HashSet::new());
    let mut next: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let page = page(account, next.as_deref()).await?;
        records.extend(page.instances);
        match page.next_token.filter(|token| !token.is_empty()) {
            None => return whole(records, page.total_instances),
            Some(token) if !tokens.insert(token.clone()) => break,
            Some(token) => next = Some(token),
        }
    }
    Err(unavailable("Vast.ai's list has no end"))
}

async fn page(account: &Account, token: Option<&str>) -> Result<Page, ProviderError> {
    let mut query = vec![("limit", PAGE)];
    query.extend(token.map(|token| ("after_token", token)));
    let call = Call {
        lane: Lane::List,
        method: Method::GET,
        path: &["v1", "instances"],
        query: &query,
        body: None,
    };
    Ok(account.call(call).await?)
}

/// `records`, unless fewer than the service counted.
fn whole(mut records: Vec<Record>, total: Option<usize>) -> Result<Vec<Record>, ProviderError> {
    let mut seen = HashSet::new();
    records.retain(|record| seen.insert(record.id));
    match total.is_some_and(|total| records.len() < total) {
        true => Err(unavailable("Vast.ai's list lacks some of what it counts")),
        false => Ok(records),
    }
}
