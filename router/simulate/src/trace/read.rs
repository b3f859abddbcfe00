use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord, Trim};

use super::{Row, TraceError};

/// The longest that a request may take, seconds: a day.
const LONGEST_SERVICE: f64 = 86_400.0;
/// The most tokens of one request.
const MOST_TOKENS: f64 = 1e8;

/// Where each column stands.
#[derive(Debug, Clone, Copy)]
struct Columns {
    t_s: usize,
    exec_s: Option<usize>,
    in_tokens: Option<usize>,
    out_tokens: Option<usize>,
    model: Option<usize>,
}

/// The rows of a file, one at a time.
pub(super) struct Rows {
    file: String,
    reader: Reader<File>,
    columns: Columns,
    record: StringRecord,
    deployments: Vec<String>,
    by_name: HashMap<String, usize>,
}

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self, TraceError> {
        let file = path.display().to_string();
        let unreadable = |source| TraceError::Unreadable {
            file: file.clone(),
            source,
        };
        let opened = File::open(path).map_err(unreadable)?;
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(opened);
        let header = reader.headers().map_err(|e| explained(&file, e))?;
        let columns = columns(header).map_err(|what| TraceError::Malformed {
            file: file.clone(),
            line: 1,
            what,
        })?;
        Ok(Rows {
            file,
            reader,
            columns,
            record: StringRecord::new(),
            deployments: Vec::new(),
            by_name: HashMap::new(),
        })
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn deployments(&self) -> &[String] {
        &self.deployments
    }

    pub(super) fn into_deployments(self) -> Vec<String> {
        self.deployments
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row>, TraceError> {
        let more = self.reader.read_record(&mut self.record);
        if !more.map_err(|e| explained(&self.file, e))? {
            return Ok(None);
        }
        self.row().map(Some).map_err(|what| self.wrong(what))
    }

    /// `what` is wrong with the row read last.
    pub(super) fn wrong(&self, what: String) -> TraceError {
        let line = self.record.position().map_or(0, csv::Position::line);
        TraceError::Malformed {
            file: self.file.clone(),
            line,
            what,
        }
    }

    fn row(&mut self) -> Result<Row, String> {
        let columns = self.columns;
        let t_s = moment(self.field(columns.t_s))?;
        let exec_s = self.amount("exec_s", columns.exec_s, LONGEST_SERVICE)?;
        let in_tokens = self.amount("in_tokens", columns.in_tokens, MOST_TOKENS)?;
        let out_tokens = self.amount("out_tokens", columns.out_tokens, MOST_TOKENS)?;
        Ok(Row {
            t_s,
            exec_s,
            in_tokens,
            out_tokens,
            deployment: self.deployment()?,
        })
    }

    fn field(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    fn amount(&self, name: &str, column: Option<usize>, most: f64) -> Result<Option<f64>, String> {
        let Some(column) = column else {
            return Ok(None);
        };
        match number(name, self.field(column))? {
            Some(amount) if amount > most => Err(format!("{name} must not be above {most}")),
            amount => Ok(amount),
        }
    }

    fn deployment(&mut self) -> Result<usize, String> {
        let Some(column) = self.columns.model else {
            return Ok(0);
        };
        let name = self.record.get(column).unwrap_or_default();
        if let Some(known) = self.by_name.get(name) {
            return Ok(*known);
        }
        if name.is_empty() {
            return Err(
                "model is missing: each row must name one, or the file have no such column"
                    .to_owned(),
            );
        }
        let index = self.deployments.len();
        self.deployments.push(name.to_owned());
        self.by_name.insert(name.to_owned(), index);
        Ok(index)
    }
}

fn columns(header: &StringRecord) -> Result<Columns, String> {
    let cells = header
        .iter()
        .map(|cell| cell.trim_start_matches('\u{feff}'));
    let place = |name: &str| {
        let places = cells.clone().enumerate().filter(|(_, cell)| *cell == name);
        match places.map(|(place, _)| place).collect::<Vec<_>>()[..] {
            [] => Ok(None),
            [place] => Ok(Some(place)),
            _ => Err(format!("names the column {name} twice")),
        }
    };
    Ok(Columns {
        t_s: place("t_s")?.ok_or(
            "has no column t_s; the first line must name the columns: t_s, and optionally exec_s, model, in_tokens, out_tokens",
        )?,
        exec_s: place("exec_s")?,
        in_tokens: place("in_tokens")?,
        out_tokens: place("out_tokens")?,
        model: place("model")?,
    })
}

/// Seconds from anywhere, before and after it.
fn moment(text: &str) -> Result<f64, String> {
    if text.is_empty() {
        return Err("t_s is missing".to_owned());
    }
    let t_s: Option<f64> = text.parse().ok();
    let finite = t_s.filter(|t_s| t_s.is_finite());
    finite.ok_or_else(|| format!("t_s must be a finite number, is {text:?}"))
}

/// A finite number of 0 or more; `None` for an empty field.
fn number(name: &str, text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|n| n.is_finite() && *n >= 0.0)
        .map(Some)
        .ok_or_else(|| format!("{name} must be a finite number of 0 or more, is {text:?}"))
}

fn explained(file: &str, error: csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    let what = match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("has {len} fields; the header has {expected_len}"),
        ErrorKind::Utf8 { .. } => "is not UTF-8".to_owned(),
        _ => "cannot be read".to_owned(),
    };
    let file = file.to_owned();
    match error.into_kind() {
        ErrorKind::Io(source) => TraceError::Unreadable { file, source },
        _ => TraceError::Malformed { file, line, what },
    }
}
