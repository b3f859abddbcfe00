//! Why a run ends without a result.

use thiserror::Error;

/// What stopped a measurement; none is worth a retry without a change.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The machine refused: a file, a socket or a process.
    #[error("{what}: {source}")]
    Machine {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A target did not answer requests in time; its log follows.
    #[error("{name} does not answer{log}")]
    NotReady {
        /// The target's name.
        name: String,
        /// The end of what it wrote, empty or beginning with a line break.
        log: String,
    },
    /// Thermocline refused the deployment that the run needs.
    #[error("creating the deployment was answered {status}: {body}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// The answer's body.
        body: String,
    },
    /// The load process ended or wrote something else than a report.
    #[error("the load process broke off")]
    LoadBroke,
    /// Nothing is left after the filters of the command line.
    #[error("no {0} is left to measure")]
    Nothing(&'static str),
    /// The run ended, and some requests were not answered as they should be.
    #[error("{0} requests failed: the figures are not to be quoted")]
    Failures(u64),
    /// Someone pressed Ctrl-C or sent SIGTERM.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// Wraps an I/O error with what was tried; for `map_err`.
    pub(crate) fn machine(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| BenchError::Machine { what, source }
    }
}
