//! How a command ends when it does not end well.

use std::fmt;
use std::process::ExitCode;

/// Whose turn it is after a failure, as the exit code says it to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Nobody reads our output any more: nothing is wrong and nobody is left to tell.
    ReaderGone = 0,
    /// The server, the network or this machine is at fault; the same command may work later.
    Fault = 1,
    /// The command line or a file is wrong; the same command will never work.
    Usage = 2,
    /// The server understood and declined.
    Refused = 3,
    /// What was named does not exist.
    NotFound = 4,
    /// It did not happen in the time allowed; it may still happen.
    Timeout = 5,
}

/// A failure with what the user is told of it, one mistake per line.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    lines: Vec<String>,
}

impl Failure {
    /// Something broke: exit 1.
    pub(crate) fn fault(line: impl Into<String>) -> Self {
        Failure::of(Exit::Fault, vec![line.into()])
    }

    /// One mistake in what the user wrote: exit 2.
    pub(crate) fn mistake(line: impl Into<String>) -> Self {
        Failure::usage(vec![line.into()])
    }

    /// Several mistakes in what the user wrote: exit 2.
    pub(crate) fn usage(lines: Vec<String>) -> Self {
        Failure::of(Exit::Usage, lines)
    }

    /// The server declined: exit 3.
    pub(crate) fn refused(lines: Vec<String>) -> Self {
        Failure::of(Exit::Refused, lines)
    }

    /// There is no such thing: exit 4.
    pub(crate) fn not_found(line: impl Into<String>) -> Self {
        Failure::of(Exit::NotFound, vec![line.into()])
    }

    /// The time is up: exit 5.
    pub(crate) fn timeout(line: impl Into<String>) -> Self {
        Failure::of(Exit::Timeout, vec![line.into()])
    }

    /// The reader of our output closed it: exit 0, in silence.
    pub(crate) fn reader_gone() -> Self {
        Failure::of(Exit::ReaderGone, Vec::new())
    }

    fn of(exit: Exit, lines: Vec<String>) -> Self {
        Failure { exit, lines }
    }

    /// What the process returns.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }

    /// What the user reads, one mistake per line.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Failure {}
