use std::time::Duration;

use thermocline_policy::Moment;

use super::Instance;

/// How many workers an endpoint was told to have at most.
#[derive(Debug, Default)]
pub(super) struct Size {
    max_workers: Option<u32>,
    /// When it was told so last without a success, and why it failed.
    tried: Option<Moment>,
    failed: Option<String>,
}

impl Size {
    /// That of an endpoint which is made with so many.
    pub(super) fn of(max_workers: u32) -> Self {
        Size {
            max_workers: Some(max_workers),
            ..Size::default()
        }
    }
}

impl Instance {
    /// Whether its provider is to be told at `now` that it may have `max_workers`:
    /// at once where that is news, otherwise each `pause` until it has taken it.
    pub(crate) fn is_resize_due(&self, max_workers: u32, now: Moment, pause: Duration) -> bool {
        let mut known = self.known();
        let size = &mut known.size;
        let is_news = size.max_workers.replace(max_workers) != Some(max_workers);
        let due = is_news || size.tried.is_some_and(|at| now.since(at) >= pause);
        if due {
            size.tried = Some(now);
        }
        due
    }

    /// Its provider has taken what it was told.
    pub(crate) fn resized(&self) {
        let mut known = self.known();
        (known.size.tried, known.size.failed) = (None, None);
    }

    /// Its provider has not, for that reason.
    pub(crate) fn not_resized(&self, why: String) {
        self.known().size.failed = Some(why);
    }

    /// Why its provider has not taken what it was told last.
    pub(crate) fn resize_failed(&self) -> Option<String> {
        self.known().size.failed.clone()
    }
}
