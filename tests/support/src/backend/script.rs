use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use thermocline_clock::Clock;

use super::{Latch, Reply, Request};

/// Which reply each request gets.
#[derive(Clone)]
pub struct Script(Arc<dyn Fn(&Request) -> Reply + Send + Sync>);

impl Script {
    /// Asks `choose` for each request, as soon as its head is there.
    pub fn from_fn(choose: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Script(Arc::new(choose))
    }

    /// The same reply to everything.
    pub fn always(reply: Reply) -> Self {
        Script::from_fn(move |_| reply.clone())
    }

    /// One reply after the other; the last one for ever.
    pub fn in_turn(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        let asked = AtomicUsize::new(0);
        Script::from_fn(move |_| {
            let turn = asked.fetch_add(1, Ordering::Relaxed);
            let reply = replies.get(turn).or(replies.last());
            reply.cloned().unwrap_or_else(|| Reply::new(404))
        })
    }

    /// `before` until `latch` opens, then `after`.
    pub fn until(latch: &Latch, before: impl Into<Script>, after: impl Into<Script>) -> Self {
        let (latch, before, after) = (latch.clone(), before.into(), after.into());
        Script::from_fn(move |request| match latch.is_open() {
            false => before.reply(request),
            true => after.reply(request),
        })
    }

    /// The reply of the last step whose time has come, counted on `clock` from
    /// this call; 503 before the first.
    pub fn timeline(clock: &Clock, steps: impl IntoIterator<Item = (Duration, Reply)>) -> Self {
        let steps: Vec<(Duration, Reply)> = steps.into_iter().collect();
        let (clock, origin) = (clock.clone(), clock.now());
        Script::from_fn(move |_| {
            let age = clock.now().since(origin);
            let current = steps.iter().rev().find(|(from, _)| *from <= age);
            current.map_or_else(|| Reply::new(503), |(_, reply)| reply.clone())
        })
    }

    /// This script, with another one for `path`.
    pub fn on(self, path: &str, script: impl Into<Script>) -> Self {
        let (path, there) = (path.to_owned(), script.into());
        Script::from_fn(move |request| match request.path() == path {
            true => there.reply(request),
            false => self.reply(request),
        })
    }

    /// This script, but 403 for requests from pages of another host.
    pub fn same_origin(self) -> Self {
        Script::from_fn(move |request| match request.is_same_origin() {
            true => self.reply(request),
            false => Reply::new(403),
        })
    }

    pub(crate) fn reply(&self, request: &Request) -> Reply {
        (self.0)(request)
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Self {
        Script::always(reply)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}
