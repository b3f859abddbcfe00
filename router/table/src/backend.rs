use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use thermocline_policy::{HostHeader, Moment, Tier};

use crate::{Deployment, Found};

/// A backend's identity within this process; never used again for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendId(u64);

impl BackendId {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        BackendId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Where a backend is and what must be sent to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Host name or address, without a port.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Which Host it sees.
    pub host_header: HostHeader,
    /// Headers that every request to it carries.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether it is told how many milliseconds are left of each request's deadline.
    pub remaining: bool,
    /// What its answers hold in [`VOUCHER_HEADER`](thermocline_policy::VOUCHER_HEADER)
    /// that are ours and no model's; `None` where all are its own.
    pub voucher: Option<HeaderValue>,
}

impl Target {
    /// `host:port`, without the port where it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// An address that the router may send to, with its limit.
#[derive(Debug)]
pub struct Backend {
    /// Its identity.
    pub id: BackendId,
    /// The instance behind it; `None` for the user's own.
    pub instance: Option<String>,
    /// The tier it serves.
    pub tier: Tier,
    /// Where it is.
    pub target: Target,
    limit: AtomicU32,
    in_flight: AtomicU32,
    suspect_until: AtomicU64,
    /// Until when nobody is told again that it was missed.
    missed_until: AtomicU64,
}

/// The bit of `in_flight` that says that it takes no more.
const RETIRED: u32 = 1 << 31;

impl Backend {
    /// A backend without work, for at most `limit` requests at a time.
    pub fn new(instance: Option<String>, tier: Tier, target: Target, limit: Option<u32>) -> Self {
        Backend {
            id: BackendId::next(),
            instance,
            tier,
            target,
            limit: AtomicU32::new(limit.unwrap_or(u32::MAX)),
            in_flight: AtomicU32::new(0),
            suspect_until: AtomicU64::new(0),
            missed_until: AtomicU64::new(0),
        }
    }

    /// Sets the most requests at a time; `None` = no limit of its own.
    pub fn set_limit(&self, limit: Option<u32>) {
        self.limit
            .store(limit.unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Requests in hand.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Acquire) & !RETIRED
    }

    /// Takes no more work, for good, if it has none in hand. Who still holds an
    /// old list of backends then gets no place on it.
    pub fn retire(&self) -> bool {
        let idle = self
            .in_flight
            .compare_exchange(0, RETIRED, Ordering::AcqRel, Ordering::Acquire);
        idle.is_ok() || self.is_retired()
    }

    /// Whether it takes no more work, for good.
    pub fn is_retired(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) & RETIRED != 0
    }

    /// Others are preferred until `until`.
    pub fn suspect(&self, until: Moment) {
        self.suspect_until.store(until.nanos(), Ordering::Relaxed);
    }

    /// Whether others are preferred at `now`.
    pub fn is_suspect(&self, now: Moment) -> bool {
        self.suspect_until.load(Ordering::Relaxed) > now.nanos()
    }

    /// Notes that it was missed at `now`; whether that is to be told, once in ten
    /// seconds at most.
    pub fn misses(&self, now: Moment) -> bool {
        const APART: Duration = Duration::from_secs(10);
        let until = self.missed_until.load(Ordering::Relaxed);
        let next = (now + APART).nanos();
        let (store, load) = (Ordering::Relaxed, Ordering::Relaxed);
        until <= now.nanos()
            && self
                .missed_until
                .compare_exchange(until, next, store, load)
                .is_ok()
    }

    fn try_add(&self) -> bool {
        let most = self.limit.load(Ordering::Relaxed);
        self.in_flight
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
                (n < most && n < RETIRED - 1).then_some(n + 1)
            })
            .is_ok()
    }
}

/// A place on a backend; given back when dropped, whatever became of the request.
#[derive(Debug)]
pub struct BackendPermit {
    backend: Arc<Backend>,
    deployment: Arc<Deployment>,
    keeps_alive: bool,
    /// How its request found the tier; `None` while none was sent that tells.
    found: Option<Found>,
    ended: Option<Moment>,
    answered: bool,
}

impl BackendPermit {
    /// A place on `backend`, if there is one.
    pub fn take(deployment: &Arc<Deployment>, backend: &Arc<Backend>) -> Option<Self> {
        if !backend.try_add() {
            return None;
        }
        deployment.traffic[backend.tier].begin();
        Some(BackendPermit {
            backend: backend.clone(),
            deployment: deployment.clone(),
            keeps_alive: true,
            found: None,
            ended: None,
            answered: false,
        })
    }

    /// The same place for what is no traffic: its end does not start the idle
    /// clock again.
    pub fn for_no_traffic(mut self) -> Self {
        self.keeps_alive = false;
        self
    }

    /// It is sent its request at `now`.
    pub fn sent(&mut self, now: Moment) {
        // Only workers of serverless come and go behind their backend.
        let tier = self.backend.tier;
        if tier == Tier::Serverless {
            let config = self.deployment.config.load();
            let idle = config.spec.idle_timeout(tier).unwrap_or_default();
            let traffic = &self.deployment.traffic[tier];
            if self.found.is_some() {
                traffic.end_sent(None);
            }
            self.found = Some(traffic.send(now, idle));
        }
    }

    /// How the request found it.
    pub fn found(&self) -> Found {
        self.found.unwrap_or(Found::Awake)
    }

    /// Its work ended at `now` with a whole answer.
    pub fn answered_at(&mut self, now: Moment) {
        self.answered = true;
        self.ended_at(now);
    }

    /// Its work ended at `now`; without this, when it is dropped.
    pub fn ended_at(&mut self, now: Moment) {
        self.ended = Some(now);
    }

    /// The backend.
    pub fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }

    /// The deployment that it serves.
    pub fn deployment(&self) -> &Arc<Deployment> {
        &self.deployment
    }
}

impl Drop for BackendPermit {
    fn drop(&mut self) {
        self.backend.in_flight.fetch_sub(1, Ordering::AcqRel);
        if self.found.is_some() {
            let answered = self.ended.filter(|_| self.answered);
            self.deployment.traffic[self.backend.tier].end_sent(answered);
        }
        self.deployment
            .end_work(self.backend.tier, self.keeps_alive, self.ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend() -> Backend {
        let target = Target {
            tls: false,
            host: "b".to_owned(),
            port: 80,
            host_header: HostHeader::Keep,
            headers: Vec::new(),
            remaining: false,
            voucher: None,
        };
        Backend::new(None, Tier::Pod, target, None)
    }

    #[test]
    fn a_retired_backend_gets_no_work_from_an_old_list() {
        let backend = backend();
        assert!(backend.retire());
        assert!(!backend.try_add());
        assert_eq!(backend.in_flight(), 0);
    }

    #[test]
    fn a_backend_with_work_in_hand_is_not_retired() {
        let backend = backend();
        assert!(backend.try_add());
        assert!(!backend.retire());
        assert!(backend.try_add());
        assert_eq!(backend.in_flight(), 2);
    }
}
