//! Arrivals from a CSV file, as a stream.

mod read;
mod row;

use std::path::{Path, PathBuf};
use std::time::Duration;

use thermocline_policy::Moment;
use thiserror::Error;

pub use row::Row;

use read::Rows;

/// The latest arrival, seconds after the first: 100 million, about three years.
const LONGEST: f64 = 1e8;
/// The most values of `model`: each is a deployment of its own.
const MOST_DEPLOYMENTS: usize = 10_000;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, from the first on.
    pub at: Moment,
    /// How long a backend has it in hand.
    pub service: Duration,
    /// Which deployment it is for, as an index into the trace's names.
    pub deployment: usize,
}

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: std::io::Error,
    },
    /// A line is not as it must be.
    #[error("{file}:{line}: {what}")]
    Malformed {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong and what is allowed.
        what: String,
    },
    /// There is no row.
    #[error("{0}: holds no arrival")]
    Empty(String),
}

/// A file of arrivals that has been looked through once.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    first: f64,
    last: f64,
    arrivals: u64,
    deployments: Vec<String>,
    /// Whether the rows must be put in order, which takes memory for all of them.
    unsorted: bool,
}

impl Trace {
    /// Looks the file through: every row must be good.
    ///
    /// # Errors
    /// [`TraceError`] with file and line of the first row that is not.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let mut rows = Rows::open(path)?;
        let mut trace = Trace {
            path: path.to_owned(),
            first: f64::INFINITY,
            last: f64::NEG_INFINITY,
            arrivals: 0,
            deployments: Vec::new(),
            unsorted: false,
        };
        while let Some(row) = rows.next_row()? {
            trace.unsorted |= row.t_s < trace.last;
            trace.first = trace.first.min(row.t_s);
            trace.last = trace.last.max(row.t_s);
            trace.arrivals += 1;
            if trace.last - trace.first > LONGEST {
                return Err(rows.wrong(format!("t_s lies more than {LONGEST} s from the others")));
            }
            if rows.deployments().len() > MOST_DEPLOYMENTS {
                return Err(rows.wrong(format!("more than {MOST_DEPLOYMENTS} values of model")));
            }
        }
        if trace.arrivals == 0 {
            return Err(TraceError::Empty(rows.file().to_owned()));
        }
        trace.deployments = rows.into_deployments();
        Ok(trace)
    }

    /// How many requests it holds.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// From the first to the last.
    pub fn span(&self) -> Duration {
        Duration::from_secs_f64(self.last - self.first)
    }

    /// The values of `model`, in the order in which they come; empty without such a column.
    pub fn deployments(&self) -> &[String] {
        &self.deployments
    }

    /// Whether its rows are out of order: they are put in order in memory.
    pub fn is_unsorted(&self) -> bool {
        self.unsorted
    }

    /// Every arrival in order, shifted so that the first is at the origin.
    ///
    /// # Errors
    /// [`TraceError`], should the file have changed since it was opened.
    pub fn replay(
        &self,
        service: impl Fn(&Row) -> Duration,
        mut each: impl FnMut(Arrival),
    ) -> Result<(), TraceError> {
        let mut rows = Rows::open(&self.path)?;
        let mut kept = Vec::new();
        while let Some(row) = rows.next_row()? {
            let since = (row.t_s - self.first).clamp(0.0, LONGEST);
            let arrival = Arrival {
                at: Moment::from_origin(Duration::from_secs_f64(since)),
                service: service(&row),
                deployment: row.deployment,
            };
            match self.unsorted {
                true => kept.push(arrival),
                false => each(arrival),
            }
        }
        kept.sort_by_key(|arrival| arrival.at);
        kept.into_iter().for_each(each);
        Ok(())
    }
}
