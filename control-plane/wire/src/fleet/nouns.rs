//! The policy's words for what travels.

use thermocline_policy::fleet as policy;

use super::{Class, Failure, FailureKind};

impl From<FailureKind> for policy::FailureKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::RuntimeDied => Self::RuntimeDied,
            FailureKind::WorkerLost => Self::WorkerLost,
            FailureKind::OutOfCapacity => Self::OutOfCapacity,
            FailureKind::Incompatible => Self::Incompatible,
            FailureKind::TimedOut => Self::TimedOut,
            FailureKind::RuntimeFailed => Self::RuntimeFailed,
            FailureKind::Rejected => Self::Rejected,
        }
    }
}

impl From<Class> for policy::Class {
    fn from(class: Class) -> Self {
        match class {
            Class::Transient => Self::Transient,
            Class::Deterministic => Self::Deterministic,
            Class::Poison => Self::Poison,
        }
    }
}

impl<'a> From<&'a Failure> for policy::Attempt<'a> {
    fn from(failure: &'a Failure) -> Self {
        policy::Attempt {
            worker: &failure.worker,
            kind: failure.kind.into(),
            status: failure.status,
        }
    }
}
