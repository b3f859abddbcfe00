//! What a call to the daemon can end with instead of an answer, and whose
//! fault that is.
//!
//! Docker says most of it in prose with status 500 only, so the prose is read.
//! The texts in the tests are what daemons really said.

use std::error::Error as StdError;
use std::io;

use bollard::errors::Error;
use thermocline_provider::{ProviderError, ProviderErrorKind};

use crate::redact::redact;

/// A call to the daemon that brought no answer, or a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody listens at the endpoint.
    Absent,
    /// Somebody listens, but not to us.
    Denied,
    /// The answer was cut or is not understood.
    Broken,
    /// The daemon refused.
    Refused { status: u16, message: String },
}

impl Fault {
    /// Whether what was named does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Fault::Refused { status: 404, .. })
    }

    /// Whether the image of a create is not on this machine.
    pub(crate) fn is_missing_image(&self) -> bool {
        matches!(self, Fault::Refused { status: 404, message } if message.to_lowercase().contains("image"))
    }

    /// Whether what exists stands in the way: a name, a removal, a running process.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Fault::Refused { status: 409, .. })
    }

    /// Whether the daemon answered, so that what it said is so.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Fault::Refused { .. })
    }

    /// What the refusal of a create or a start means.
    ///
    /// `host_port` is the fixed port that was asked for.
    pub(crate) fn of_start(self, host_port: Option<u16>) -> ProviderError {
        let Fault::Refused { status, message } = self else {
            return self.into();
        };
        let text = message.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
        if says(&PORT_TAKEN) {
            return port_conflict(host_port);
        }
        if let Some((_, detail)) = HOST_LACKS.iter().find(|(phrase, _)| says(&[phrase])) {
            return ProviderError::new(ProviderErrorKind::HostMisconfigured, *detail);
        }
        if says(&CANNOT_RUN) {
            let detail = format!("the container cannot run: {}", redact(&message));
            return ProviderError::new(ProviderErrorKind::Invalid, detail);
        }
        Fault::Refused { status, message }.into()
    }

    /// What it means that an image cannot be pulled.
    pub(crate) fn of_pull(self) -> ProviderError {
        let Fault::Refused { message, .. } = self else {
            return self.into();
        };
        let detail = format!(
            "the image is not on this machine and cannot be pulled: {}",
            redact(&message)
        );
        ProviderError::new(ProviderErrorKind::Invalid, detail)
    }
}

/// Both end in words that also stand in name conflicts; those are told by status 409.
const PORT_TAKEN: [&str; 2] = ["port is already allocated", "address already in use"];

const HOST_LACKS: [(&str, &str); 6] = [
    (
        "could not select device driver",
        "Docker cannot give GPUs to containers: install the NVIDIA Container Toolkit and restart Docker",
    ),
    (
        "nvidia-container-cli",
        "the NVIDIA Container Toolkit fails: see that the driver works on this machine",
    ),
    (
        "unknown or invalid runtime name",
        "Docker's runtime is not installed",
    ),
    (
        "docker-init\": executable file not found",
        "Docker's init is not installed (package `tini` or `docker-init`)",
    ),
    (
        "no space left on device",
        "the disk that Docker uses is full",
    ),
    (
        "cpus available",
        "this machine has fewer CPUs than asked for",
    ),
];

const CANNOT_RUN: [&str; 4] = [
    "executable file not found",
    "oci runtime create failed",
    "no command specified",
    "exec format error",
];

fn port_conflict(host_port: Option<u16>) -> ProviderError {
    let detail = match host_port {
        Some(port) => format!("port {port} of this machine is taken"),
        None => "no port of this machine is free".to_owned(),
    };
    ProviderError::new(ProviderErrorKind::PortConflict, detail)
}

impl From<Fault> for ProviderError {
    fn from(fault: Fault) -> Self {
        use ProviderErrorKind::{Auth, HostMisconfigured, Invalid, Unavailable};
        let (kind, detail) = match fault {
            Fault::Absent => (Unavailable, "the Docker daemon does not run".to_owned()),
            Fault::Denied => (
                HostMisconfigured,
                "this process may not talk to the Docker daemon: add its user to the group `docker`"
                    .to_owned(),
            ),
            Fault::Broken => (
                Unavailable,
                "the Docker daemon broke off its answer".to_owned(),
            ),
            Fault::Refused { status, message } => {
                let kind = match status {
                    400 => Invalid,
                    401 | 403 => Auth,
                    _ => Unavailable,
                };
                (kind, format!("Docker refuses: {}", redact(&message)))
            }
        };
        ProviderError::new(kind, detail)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::DockerResponseServerError {
                status_code,
                message,
            } => Fault::Refused {
                status: status_code,
                message,
            },
            // Said in the middle of a stream that began with 200.
            Error::DockerStreamError { error } => Fault::Refused {
                status: 500,
                message: error,
            },
            Error::SocketNotFoundError(_) => Fault::Absent,
            other => unanswered(&other),
        }
    }
}

fn unanswered(error: &Error) -> Fault {
    // This variant is transparent: as a source it would leave itself out.
    let cause = match error {
        Error::IOError { err } => Some(err),
        other => root_io(other),
    };
    match cause.map(io::Error::kind) {
        Some(io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => Fault::Absent,
        Some(io::ErrorKind::PermissionDenied) => Fault::Denied,
        _ => Fault::Broken,
    }
}

/// The I/O error that caused it, if one did.
fn root_io<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a io::Error> {
    match error.downcast_ref() {
        Some(io) => Some(io),
        None => root_io(error.source()?),
    }
}

#[cfg(test)]
mod tests;
