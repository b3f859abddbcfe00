//! Why a client gets no worker's answer: every reason, with what it reads and
//! how it is counted. What it reads says nothing of what is inside.

use http::StatusCode;
use thermocline_provider::fleet::FleetResult;
use thermocline_wire::fleet::FailureKind;

/// Why a client gets no worker's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// There is no room for more.
    Full,
    /// Its body is larger than is taken.
    TooLarge,
    /// Its body broke off: the gateway let go of it, since its client left.
    BodyLeft,
    /// It asks for a connection.
    Upgrade,
    /// Its deployment is not known here.
    Unknown,
    /// Its deployment went away.
    Withdrawn,
    /// No worker could ever hold its model.
    NoWorker,
    /// It could not be put into its queue.
    NoQueue,
    /// No worker had its model loaded in time.
    ColdStart,
    /// Its deadline passed.
    Deadline,
    /// There will be no further attempt.
    Failed(FailureKind),
    /// Two holders died with it.
    Poison,
    /// The broker gave its job up.
    Undeliverable,
}

impl Excuse {
    /// As it is counted.
    pub(crate) const fn result(self) -> FleetResult {
        match self {
            Excuse::Full | Excuse::TooLarge | Excuse::Upgrade => FleetResult::Refused,
            Excuse::BodyLeft => FleetResult::ClientLeft,
            Excuse::Unknown | Excuse::Withdrawn | Excuse::NoWorker | Excuse::NoQueue => {
                FleetResult::Unavailable
            }
            Excuse::ColdStart => FleetResult::ColdStartTimeout,
            Excuse::Deadline => FleetResult::Expired,
            Excuse::Failed(_) | Excuse::Undeliverable => FleetResult::Failed,
            Excuse::Poison => FleetResult::Poison,
        }
    }

    /// The status that the client gets.
    pub(crate) const fn status(self) -> StatusCode {
        use FailureKind::{
            Incompatible, OutOfCapacity, Rejected, RuntimeDied, RuntimeFailed, TimedOut, WorkerLost,
        };
        match self {
            Excuse::BodyLeft => StatusCode::BAD_REQUEST,
            Excuse::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Excuse::Full => StatusCode::TOO_MANY_REQUESTS,
            Excuse::Upgrade => StatusCode::NOT_IMPLEMENTED,
            Excuse::Poison | Excuse::Undeliverable => StatusCode::BAD_GATEWAY,
            Excuse::Failed(Incompatible | Rejected | RuntimeDied | RuntimeFailed) => {
                StatusCode::BAD_GATEWAY
            }
            Excuse::Unknown | Excuse::Withdrawn | Excuse::NoWorker | Excuse::NoQueue => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Excuse::ColdStart | Excuse::Failed(OutOfCapacity | WorkerLost) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Excuse::Deadline | Excuse::Failed(TimedOut) => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The stable code, and a sentence for people.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Excuse::Full => ("full", "too many requests wait for the fleet"),
            Excuse::TooLarge => ("body_too_large", "the body is larger than the fleet takes"),
            Excuse::BodyLeft => ("client_left", "the client left"),
            Excuse::Upgrade => (
                "upgrade_unsupported",
                "the shared fleet answers requests, not connections: no WebSocket or other upgrade",
            ),
            Excuse::Unknown => (
                "unavailable",
                "the fleet does not serve this deployment now",
            ),
            Excuse::Withdrawn => (
                "unavailable",
                "the fleet does not serve this deployment any more",
            ),
            Excuse::NoWorker => (
                "no_capacity",
                "no worker of the fleet could ever hold this model",
            ),
            Excuse::NoQueue => ("no_capacity", "the fleet's queue cannot be reached"),
            Excuse::ColdStart => (
                "cold_start_timeout",
                "no worker of the fleet has loaded the model within the time that this request may wait",
            ),
            Excuse::Deadline => (
                "deadline",
                "the deadline passed before a worker of the fleet had answered",
            ),
            Excuse::Failed(kind) => words_of(kind),
            Excuse::Poison => (
                "poison",
                "workers failed with this request in hand; it will not be tried again",
            ),
            Excuse::Undeliverable => (
                "undeliverable",
                "the request was tried too often without an end",
            ),
        }
    }
}

/// Of a last attempt that failed.
const fn words_of(kind: FailureKind) -> (&'static str, &'static str) {
    match kind {
        FailureKind::TimedOut => ("timeout", "the model did not answer in time"),
        FailureKind::OutOfCapacity | FailureKind::WorkerLost => {
            ("no_capacity", "no worker of the fleet could run it")
        }
        FailureKind::Incompatible => (
            "incompatible",
            "the model cannot be loaded by the fleet's workers",
        ),
        FailureKind::Rejected => ("rejected", "the model refused the request"),
        FailureKind::RuntimeDied | FailureKind::RuntimeFailed => {
            ("bad_gateway", "the model failed on the request")
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A worker's result is its client's.
    Answered,
    /// A worker's result broke off.
    BrokeOff,
    /// Its client left.
    ClientLeft,
    /// Its client was told why there is no result, or would have been.
    Excused(Excuse),
}

impl End {
    /// As it is counted.
    pub(crate) const fn result(self) -> FleetResult {
        match self {
            End::Answered => FleetResult::Answered,
            End::BrokeOff => FleetResult::Failed,
            End::ClientLeft => FleetResult::ClientLeft,
            End::Excused(excuse) => excuse.result(),
        }
    }
}

impl From<Excuse> for End {
    fn from(excuse: Excuse) -> Self {
        End::Excused(excuse)
    }
}

#[cfg(test)]
mod tests;
