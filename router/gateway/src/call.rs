//! One request on its way: what it is, and how long it may take.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use hyper::upgrade::OnUpgrade;
use thermocline_clock::Clock;
use thermocline_edge::Lifecycle;
use thermocline_policy::{Moment, Reason, Tier};
use thermocline_table::{Config, Deployment, Start};
use ulid::Ulid;

use crate::acquire::Served;
use crate::deadline::Patience;
use crate::guard::Checked;
use crate::names;

/// The client's side of a connection.
pub(crate) struct Client {
    pub(crate) peer: SocketAddr,
    /// The peer's address as `x-forwarded-for` has it.
    pub(crate) address: String,
    pub(crate) lifecycle: Lifecycle,
}

impl Client {
    pub(crate) fn new(peer: SocketAddr, lifecycle: Lifecycle) -> Self {
        Client {
            peer,
            address: peer.ip().to_canonical().to_string(),
            lifecycle,
        }
    }
}

/// A request whose deployment is known.
pub(crate) struct Call<'c> {
    pub(crate) parts: &'c Parts,
    pub(crate) checked: &'c Checked,
    pub(crate) id: &'c HeaderValue,
    pub(crate) client: &'c Client,
    pub(crate) deployment: &'c Arc<Deployment>,
    pub(crate) config: Arc<Config>,
    pub(crate) prefix: Option<usize>,
    /// The largest body in bytes; `None` = any.
    pub(crate) most_body: Option<u64>,
    pub(crate) arrived: Moment,
    /// Whether it is traffic.
    pub(crate) counted: bool,
    pub(crate) patience: Patience,
    pub(crate) on_upgrade: Option<OnUpgrade>,
}

/// The client's own id where it is plain, else a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let plain = |id: &&HeaderValue| {
        (1..=128).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    if let Some(theirs) = headers.get(&names::REQUEST_ID).filter(plain) {
        return theirs.clone();
    }
    let mut text = [0; ulid::ULID_LEN];
    let text = Ulid::generate().array_to_str(&mut text);
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown"))
}

/// What a response says of how it came about.
#[derive(Default)]
pub(crate) struct Stamp {
    pub(crate) tier: Option<Tier>,
    pub(crate) start: Option<Start>,
    pub(crate) reason: Option<Reason>,
    /// When something was first sent to a backend.
    pub(crate) sent: Option<Moment>,
    /// When the response's head was read.
    pub(crate) answered: Option<Moment>,
}

impl Stamp {
    /// It is served so.
    pub(crate) fn serve(&mut self, served: &Served) {
        self.tier = Some(served.tier);
        self.reason = Some(served.reason);
        self.start = Some(served.start);
    }

    /// Fills in, for a refusal, what was not come to: which tier would have
    /// served it, and how.
    pub(crate) fn complete(&mut self, deployment: &Deployment, now: Moment) {
        let decision = deployment.decide(now);
        let tier = *self.tier.get_or_insert(decision.tier);
        self.reason.get_or_insert(decision.reason);
        let ready = deployment.capacity.load().serves(tier);
        let start = if ready { Start::Warm } else { Start::Cold };
        self.start.get_or_insert(start);
    }

    /// Puts the headers on that a response of `deployment` carries.
    pub(crate) fn put(
        &self,
        headers: &mut HeaderMap,
        deployment: &Deployment,
        arrived: Moment,
        clock: &Clock,
    ) {
        if let Ok(name) = HeaderValue::from_str(&deployment.name) {
            headers.insert(&names::DEPLOYMENT, name);
        }
        if let Some(tier) = self.tier {
            put(headers, &names::TIER, tier.as_str());
        }
        if let Some(start) = self.start {
            put(headers, &names::START, start.as_str());
        }
        if let Some(reason) = self.reason {
            put(headers, &names::REASON, reason.as_str());
        }
        if let Ok(timing) = HeaderValue::from_maybe_shared(Bytes::from(self.timing(arrived, clock)))
        {
            // The backend may have said something of its own.
            headers.append(&names::SERVER_TIMING, timing);
        }
    }

    fn timing(&self, arrived: Moment, clock: &Clock) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        let sent = self.sent.unwrap_or_else(|| clock.now());
        out.extend_from_slice(b"hold;dur=");
        put_millis(&mut out, sent.since(arrived));
        let upstream = match (self.sent, self.answered) {
            (Some(sent), Some(answered)) => answered.since(sent),
            _ => Duration::ZERO,
        };
        out.extend_from_slice(b", upstream;dur=");
        put_millis(&mut out, upstream);
        out
    }
}

/// Milliseconds with three decimals, without the detours of a float or a format.
fn put_millis(out: &mut Vec<u8>, duration: Duration) {
    let micros = duration.as_micros();
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(micros / 1000).as_bytes());
    let thousandths = digits.format(1000 + micros % 1000).as_bytes();
    out.push(b'.');
    out.extend_from_slice(&thousandths[1..]);
}

fn put(headers: &mut HeaderMap, name: &HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_decimals() {
        let text = |micros| {
            let mut out = Vec::new();
            put_millis(&mut out, Duration::from_micros(micros));
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0), "0.000");
        assert_eq!(text(7), "0.007");
        assert_eq!(text(1_050), "1.050");
        assert_eq!(text(61_000_999), "61000.999");
    }
}
