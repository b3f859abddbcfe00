use std::time::Duration;

use thiserror::Error;

/// Whose fault a provider's error is, and so what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderErrorKind {
    /// No hardware to be had: try another offer or tier, later this one again.
    NoCapacity,
    /// Asked too often: not before the delay, where one was named.
    RateLimited(Option<Duration>),
    /// Our credentials do not count: a person must act.
    Auth,
    /// The request can never succeed as it is: a person must act.
    Invalid,
    /// The account's own limit is reached.
    Quota,
    /// The account has no credit left: a person must act.
    NoCredit,
    /// A fixed port of this machine is taken.
    PortConflict,
    /// This machine lacks something that the request needs.
    HostMisconfigured,
    /// Nobody was there to be asked: nothing was made.
    Unreachable,
    /// It was asked and never answered; says nothing about whether the instance exists.
    Unanswered,
    /// Anything else; says nothing about whether the instance exists.
    Unavailable,
}

impl ProviderErrorKind {
    /// The protocol's word for it.
    pub const fn code(self) -> &'static str {
        match self {
            ProviderErrorKind::NoCapacity => "no_capacity",
            ProviderErrorKind::RateLimited(_) => "rate_limited",
            ProviderErrorKind::Auth => "auth",
            ProviderErrorKind::Invalid => "invalid",
            ProviderErrorKind::Quota | ProviderErrorKind::NoCredit => "quota",
            ProviderErrorKind::PortConflict => "port_conflict",
            ProviderErrorKind::HostMisconfigured => "host_misconfigured",
            ProviderErrorKind::Unreachable
            | ProviderErrorKind::Unanswered
            | ProviderErrorKind::Unavailable => "unavailable",
        }
    }
}

/// A provider did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {detail}", kind.code())]
pub struct ProviderError {
    /// What to do about it.
    pub kind: ProviderErrorKind,
    /// For people; holds no key, address or path.
    pub detail: String,
}

impl ProviderError {
    /// An error of `kind`.
    pub fn new(kind: ProviderErrorKind, detail: impl Into<String>) -> Self {
        ProviderError {
            kind,
            detail: detail.into(),
        }
    }

    /// Whether it is certain that nothing was made.
    pub const fn before_effect(&self) -> bool {
        match self.kind {
            ProviderErrorKind::NoCapacity
            | ProviderErrorKind::RateLimited(_)
            | ProviderErrorKind::Auth
            | ProviderErrorKind::Invalid
            | ProviderErrorKind::Quota
            | ProviderErrorKind::NoCredit
            | ProviderErrorKind::PortConflict
            | ProviderErrorKind::HostMisconfigured
            | ProviderErrorKind::Unreachable => true,
            ProviderErrorKind::Unanswered | ProviderErrorKind::Unavailable => false,
        }
    }

    /// Whether asking again later may help without a person.
    pub const fn transient(&self) -> bool {
        matches!(
            self.kind,
            ProviderErrorKind::RateLimited(_)
                | ProviderErrorKind::Unreachable
                | ProviderErrorKind::Unanswered
                | ProviderErrorKind::Unavailable
        )
    }

    /// Whether there was an answer, whatever it said.
    pub const fn is_answer(&self) -> bool {
        !matches!(
            self.kind,
            ProviderErrorKind::Unreachable | ProviderErrorKind::Unanswered
        )
    }
}
