//! What travels in the policy's words, and back.

use std::num::NonZeroU32;

use thermocline_policy::fleet as policy;

use super::{Class, Failure, FailureKind, Shape, Terms};

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

impl From<policy::Class> for Class {
    fn from(class: policy::Class) -> Self {
        match class {
            policy::Class::Transient => Self::Transient,
            policy::Class::Deterministic => Self::Deterministic,
            policy::Class::Poison => Self::Poison,
        }
    }
}

impl From<Shape> for policy::Shape {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Gpu => Self::Gpu,
            Shape::Cpu => Self::Cpu,
        }
    }
}

impl From<policy::Shape> for Shape {
    fn from(shape: policy::Shape) -> Self {
        match shape {
            policy::Shape::Gpu => Self::Gpu,
            policy::Shape::Cpu => Self::Cpu,
        }
    }
}

impl From<&Terms> for policy::Terms {
    fn from(terms: &Terms) -> Self {
        policy::Terms {
            memory: policy::Mib(terms.memory_mib),
            devices: terms.gpus,
            max_workers: NonZeroU32::new(terms.max_workers),
            pinned: terms.pinned,
            shape: terms.shape.into(),
            preemptible: terms.preemptible,
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
