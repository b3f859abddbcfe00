//! The log: lines on stderr that hold no secret.

use std::io::{self, IsTerminal, Stderr, Write};

use thermocline_server::Redaction;
use tracing_subscriber::EnvFilter;

/// Structured lines on stderr, of `level` and above unless `THERMOCLINE_LOG`
/// says otherwise; they are without what is hidden by what this returns.
pub(crate) fn log_to_stderr(level: &str) -> Redaction {
    let redaction = Redaction::default();
    let hides = redaction.clone();
    // A second subscriber in one process is no fault.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter(level))
        .with_writer(move || Redacted {
            out: io::stderr(),
            redaction: hides.clone(),
        })
        .with_ansi(io::stderr().is_terminal())
        .try_init();
    redaction
}

fn filter(level: &str) -> EnvFilter {
    let filter =
        EnvFilter::try_from_env("THERMOCLINE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    // The AMQP library writes down whole messages, with what admits to them;
    // what goes wrong is told by the broker that uses it.
    match "lapin=off".parse() {
        Ok(silent) => filter.add_directive(silent),
        Err(_) => filter,
    }
}

/// Takes a whole line at a time, as the subscriber writes them. A log that nobody
/// can read any more is lost, and ends nothing.
struct Redacted<W = Stderr> {
    out: W,
    redaction: Redaction,
}

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        // The subscriber would write its complaint to the same place, and panic there.
        let _lost = self.out.write_all(self.redaction.clean(&text).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _lost = self.out.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_nobody_reads_is_no_failure() {
        let (read, write) = io::pipe().unwrap();
        drop(read);
        let mut log = Redacted {
            out: write,
            redaction: Redaction::default(),
        };
        assert_eq!(log.write(b"INFO up\n").unwrap(), 8);
        log.flush().unwrap();
    }

    #[test]
    fn a_line_is_written_without_what_is_hidden() {
        let redaction = Redaction::default();
        redaction.hide("hf_Sentinel");
        let mut log = Redacted {
            out: Vec::new(),
            redaction,
        };
        let line = b"DEBUG env=HF_TOKEN=hf_Sentinel\n";
        assert_eq!(log.write(line).unwrap(), line.len());
        assert_eq!(log.out, b"DEBUG env=HF_TOKEN=[secret]\n");
    }
}
