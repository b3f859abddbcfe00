//! Idle connections, kept per thread: a connection never leaves the runtime
//! that drives it, and taking one locks nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_table::BackendId;

use super::Connection;

/// Shorter than the keep-alive of common model servers (5 s for uvicorn and
/// Node), so that a request seldom meets a connection that is being closed.
const KEEP: Duration = Duration::from_secs(4);
const MOST_PER_BACKEND: usize = 512;

struct Idle {
    connection: Connection,
    since: Moment,
}

thread_local! {
    static IDLE: RefCell<HashMap<BackendId, Vec<Idle>>> = RefCell::default();
}

/// The connection to `backend` that was used last, if one is still good.
pub(crate) fn checkout(backend: BackendId, now: Moment) -> Option<Connection> {
    IDLE.with_borrow_mut(|idle| {
        let stack = idle.get_mut(&backend)?;
        while let Some(mut candidate) = stack.pop() {
            if now.since(candidate.since) < KEEP && candidate.connection.is_quiet() {
                candidate.connection.reused = true;
                return Some(candidate.connection);
            }
        }
        None
    })
}

/// Keeps `connection` for the next request.
pub(crate) fn checkin(connection: Connection, now: Moment) {
    IDLE.with_borrow_mut(|idle| {
        let stack = idle.entry(connection.backend).or_default();
        if stack.len() < MOST_PER_BACKEND {
            stack.push(Idle {
                connection,
                since: now,
            });
        }
    });
}

/// Closes what has been idle for too long.
pub(crate) fn sweep(now: Moment) {
    IDLE.with_borrow_mut(|idle| {
        idle.retain(|_, stack| {
            stack.retain(|candidate| now.since(candidate.since) < KEEP);
            !stack.is_empty()
        });
    });
}
