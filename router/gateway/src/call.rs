//! One request on its way: what it is, and how long it may take.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use hyper::upgrade::OnUpgrade;
use thermocline_clock::Clock;
use thermocline_policy::{Moment, Reason, Tier};
use thermocline_table::{Config, Deployment, Start};

use crate::acquire::Served;
use crate::deadline::Patience;
use crate::guard::Checked;
use crate::names;

/// A request whose deployment is known.
pub(crate) struct Call<'c> {
    pub(crate) parts: &'c Parts,
    pub(crate) checked: &'c Checked,
    pub(crate) id: &'c str,
    pub(crate) peer: SocketAddr,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) config: Arc<Config>,
    pub(crate) prefix: Option<usize>,
    pub(crate) arrived: Moment,
    pub(crate) patience: Patience,
    pub(crate) on_upgrade: Option<OnUpgrade>,
}

/// What a response says of how it came about.
#[derive(Default)]
pub(crate) struct Stamp {
    pub(crate) deployment: Option<Arc<Deployment>>,
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

    /// Puts the headers on that every response carries.
    pub(crate) fn put(&self, headers: &mut HeaderMap, id: &str, arrived: Moment, clock: &Clock) {
        put(headers, &names::REQUEST_ID, id);
        let Some(deployment) = &self.deployment else {
            return;
        };
        put(headers, &names::DEPLOYMENT, &deployment.name);
        if let Some(tier) = self.tier {
            put_static(headers, &names::TIER, tier.as_str());
        }
        if let Some(start) = self.start {
            put_static(headers, &names::START, start.as_str());
        }
        if let Some(reason) = self.reason {
            put_static(headers, &names::REASON, reason.as_str());
        }
        if let Ok(timing) = HeaderValue::from_str(&self.timing(arrived, clock)) {
            // The backend may have said something of its own.
            headers.append(&names::SERVER_TIMING, timing);
        }
    }

    fn timing(&self, arrived: Moment, clock: &Clock) -> String {
        let hold = Millis::between(arrived, self.sent.unwrap_or_else(|| clock.now()));
        match (self.sent, self.answered) {
            (Some(sent), Some(answered)) => {
                format!(
                    "hold;dur={hold}, upstream;dur={}",
                    Millis::between(sent, answered)
                )
            }
            _ => format!("hold;dur={hold}"),
        }
    }
}

/// A duration in milliseconds with three decimals, without a float's detour.
struct Millis(u128);

impl Millis {
    fn between(from: Moment, to: Moment) -> Self {
        Millis(to.since(from).as_micros())
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

fn put(headers: &mut HeaderMap, name: &HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn put_static(headers: &mut HeaderMap, name: &HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
