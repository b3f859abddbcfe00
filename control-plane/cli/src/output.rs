//! Results go to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::ValueEnum;
use comfy_table::{Table, presets};
use thermocline_policy::format_duration;

use crate::document::Document;
use crate::failure::Failure;

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// The server's JSON as it is.
    Json,
    /// The same as YAML.
    Yaml,
}

/// Writes a result: the document itself, or what `text` makes of it for people.
///
/// # Errors
/// What `text` fails with, and when stdout cannot be written.
pub(crate) fn show(
    format: Format,
    document: &Document,
    text: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    match format {
        Format::Table => print(&text()?),
        _ if document.is_empty() => Ok(()),
        Format::Json => print(&document.json()),
        Format::Yaml => print(&document.yaml()),
    }
}

/// Writes `text` to stdout, ended by a newline unless it is empty.
///
/// # Errors
/// When stdout cannot be written; [`Failure::reader_gone`] when its reader has left.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write!(stdout, "{text}{end}")
        .and_then(|()| stdout.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::reader_gone(),
            _ => Failure::fault("cannot write to stdout"),
        })
}

/// Chatter for whoever watches; without a reader it is lost.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", plain(text));
}

/// Tells the user of a failure, one mistake per line.
pub(crate) fn complain(failure: &Failure) {
    let label = if colour_on_stderr() {
        "\x1b[1;31merror:\x1b[0m"
    } else {
        "error:"
    };
    for line in failure.lines() {
        let _ = writeln!(io::stderr(), "{label} {}", plain(line));
    }
}

fn colour_on_stderr() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !refused && !dumb && io::stderr().is_terminal()
}

/// `text` on one line and without anything that a terminal would obey:
/// what providers and backends say reaches the screen through us.
pub(crate) fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// Columns three blanks apart, without lines, as `kubectl` has them.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    let lines: Vec<_> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// What stands in a table where there is nothing.
pub(crate) const NOTHING: &str = "-";

/// `value`, or [`NOTHING`].
pub(crate) fn or_nothing(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

/// Dollars, with as many digits as a small price needs.
pub(crate) fn dollars(usd: f64) -> String {
    if usd == 0.0 || usd >= 0.1 {
        format!("{usd:.2}")
    } else {
        format!("{usd:.4}")
    }
}

/// So many of a thing, in the right number.
pub(crate) fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// A duration as people say it: to the second from a minute on, to a tenth of a
/// second from a second on.
pub(crate) fn about(duration: Duration) -> String {
    let step = match duration.as_secs() {
        60.. => 1_000_u32,
        1.. => 100,
        0 => 1,
    };
    let steps = (duration.as_secs_f64() * 1e3 / f64::from(step)).round();
    format_duration(Duration::from_millis(steps as u64 * u64::from(step)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_with_their_text() {
        let rows = [
            vec!["sdxl".to_owned(), "-".to_owned()],
            vec!["a".to_owned(), "pod".to_owned()],
        ];
        assert_eq!(
            table(&["NAME", "TIER"], rows),
            "NAME   TIER\nsdxl   -\na      pod"
        );
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed() {
        assert_eq!(plain("a\x1b[2Jb\nc"), "a [2Jb c");
    }

    #[test]
    fn small_prices_keep_their_digits() {
        assert_eq!(dollars(1.2), "1.20");
        assert_eq!(dollars(0.0021), "0.0021");
        assert_eq!(dollars(0.0), "0.00");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(counted(1, "request"), "1 request");
        assert_eq!(counted(2, "request"), "2 requests");
    }

    #[test]
    fn durations_are_rounded_for_people() {
        let of = |seconds| about(Duration::from_secs_f64(seconds));
        assert_eq!(of(744.801_61), "12m25s");
        assert_eq!(of(59.96), "1m");
        assert_eq!(of(3.04), "3s");
        assert_eq!(of(2.55), "2s600ms");
        assert_eq!(of(0.0214), "21ms");
        assert_eq!(of(7_200.0), "2h");
    }
}
