//! Finding what is ours, in lists that cannot be asked for it.

use std::collections::HashMap;
use std::sync::Mutex;

use thermocline_provider::ProviderError;
use thermocline_provider::cloud::{Marks, key_in};

use crate::account::Account;
use crate::error::unavailable;
use crate::id::Id;
use crate::said::{Page, Thing};

/// Pages after which a list is taken for endless.
const MOST_PAGES: usize = 1_000;
/// Marks that are remembered.
const MOST_KNOWN: usize = 10_000;

/// The marks of what has been read, since lists may leave out the environment.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<Id, Marks>>);

/// What a search found.
pub(crate) struct Found {
    pub(crate) things: Vec<(Id, Thing, Marks)>,
    /// Whether an absence means something.
    pub(crate) complete: bool,
}

impl Known {
    pub(crate) fn marks(&self, id: &Id) -> Option<Marks> {
        self.lock().get(id).cloned()
    }

    pub(crate) fn remember(&self, id: Id, marks: Marks) {
        let mut known = self.lock();
        if known.len() >= MOST_KNOWN {
            known.clear(); // they can all be read again
        }
        known.insert(id, marks);
    }

    pub(crate) fn forget(&self, id: &Id) {
        self.lock().remove(id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Id, Marks>> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Everything under `path` (`pods` or `serverless`) that is `owner`'s.
    pub(crate) async fn owned(
        &self,
        account: &Account,
        path: &'static str,
        owner: &str,
    ) -> Result<Found, ProviderError> {
        let mut found = Found {
            things: Vec::new(),
            complete: true,
        };
        for thing in all(account, path).await? {
            let Some(key) = key_in(&thing.name, owner).map(str::to_owned) else {
                continue;
            };
            let id = match path {
                "pods" => Id::Pod(thing.id.clone()),
                _ => Id::Endpoint(thing.id.clone()),
            };
            match self.confirmed(account, &id, &thing).await? {
                Confirmed::Ours(marks) if marks.owner == owner && marks.key == key => {
                    found.things.push((id, thing, marks));
                }
                Confirmed::Ours(_) | Confirmed::Stranger => {}
                Confirmed::Unknown => found.complete = false,
            }
        }
        Ok(found)
    }

    /// Whether `thing`, which has a name as ours, has our marks too.
    async fn confirmed(
        &self,
        account: &Account,
        id: &Id,
        thing: &Thing,
    ) -> Result<Confirmed, ProviderError> {
        let env = match &thing.env {
            Some(env) => Some(env.clone()),
            None => {
                if let Some(marks) = self.marks(id) {
                    return Ok(Confirmed::Ours(marks));
                }
                match account.find::<Thing>(&id.path()).await? {
                    Some(whole) => whole.env,
                    None => return Ok(Confirmed::Unknown),
                }
            }
        };
        Ok(match env.as_ref().and_then(Marks::read) {
            Some(marks) => {
                self.remember(id.clone(), marks.clone());
                Confirmed::Ours(marks)
            }
            None => Confirmed::Stranger,
        })
    }
}

enum Confirmed {
    Ours(Marks),
    Stranger,
    /// It is listed, and cannot be read yet.
    Unknown,
}

/// Every page of the list at `path`; without pages, the list is one.
async fn all(account: &Account, path: &str) -> Result<Vec<Thing>, ProviderError> {
    let (mut things, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let query: Vec<(&str, &str)> = cursor.iter().map(|at| ("cursor", at.as_str())).collect();
        let page: Page = account.read(&[path], &query).await?;
        things.extend(page.pods);
        let next = match page.pagination {
            Some(pages) if pages.has_next_page => pages.next_cursor,
            Some(_) | None => return Ok(things),
        };
        if next.is_none() || next == cursor {
            return Err(unavailable("RunPod's list has no end"));
        }
        cursor = next;
    }
    Err(unavailable("RunPod's list has no end"))
}
