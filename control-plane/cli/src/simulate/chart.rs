use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use thermocline_simulate::{Arrival, Chart, Course, RateCurve, svg};

use super::source::Source;
use crate::failure::Failure;
use crate::output;

/// Deployments that are drawn; the first ones of a trace.
const MOST_CHARTS: usize = 20;

/// The chart file, with a chart for each deployment.
pub(super) struct Plot {
    file: Option<(PathBuf, File)>,
    curves: Vec<RateCurve>,
}

impl Plot {
    /// Makes the file, where one is asked for, before any work is done.
    ///
    /// # Errors
    /// Usage, when it cannot be written.
    pub(super) fn open(path: Option<&Path>, source: &Source) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Plot {
                file: None,
                curves: Vec::new(),
            });
        };
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        let deployments = source.deployments().len().max(1);
        if deployments > MOST_CHARTS {
            output::note(&format!(
                "{deployments} deployments; the chart shows the first {MOST_CHARTS}"
            ));
        }
        Ok(Plot {
            file: Some((path.to_owned(), file)),
            curves: vec![RateCurve::over(source.span()); deployments.min(MOST_CHARTS)],
        })
    }

    pub(super) fn add(&mut self, arrival: &Arrival) {
        if let Some(curve) = self.curves.get_mut(arrival.deployment) {
            curve.add(arrival.at);
        }
    }

    /// Writes how each deployment went.
    ///
    /// # Errors
    /// A fault, when the file cannot be written.
    pub(super) fn write(self, source: &Source, courses: Vec<Vec<Course>>) -> Result<(), Failure> {
        let Some((path, mut file)) = self.file else {
            return Ok(());
        };
        let mut names = source.deployments().iter();
        let charts: Vec<Chart> = std::iter::zip(self.curves, courses)
            .map(|(curve, courses)| Chart {
                title: source.title(names.next().map(String::as_str)),
                curve,
                courses,
            })
            .collect();
        let written = file.write_all(svg(&charts).as_bytes());
        written.map_err(|error| {
            let (path, reason) = (path.display(), error.kind());
            Failure::fault(format!("{path} cannot be written: {reason}"))
        })
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let (path, reason) = (path.display(), error.kind());
    Failure::mistake(format!(
        "--plot {path} cannot be written: {reason}; name a file in a folder that exists and that you may write to"
    ))
}
