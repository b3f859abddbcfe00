//! `simulate`: what policies would have cost for the arrivals of a trace.

mod args;
mod ledger;
mod source;
mod table;

use std::io::IsTerminal;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use thermocline_simulate::{Arrival, Fleet, RateCurve, Report, svg};

pub(crate) use args::Simulate;
use source::Source;

use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::session::Session;

/// How many arrivals go by between two moves of the progress bar.
const PROGRESS: u64 = 16_384;

/// Replays a trace and prints what each policy would have cost.
///
/// # Errors
/// Those of the call, with `--from-ledger`; usage, for a trace or a flag that cannot be used; refused, when the
/// objective is missed; a fault, when the chart cannot be written.
pub(crate) async fn run(
    format: Format,
    args: &Simulate,
    session: impl FnOnce() -> Result<Session, Failure>,
) -> Result<(), Failure> {
    let assumptions = args.assumptions();
    let source = match args.from_ledger {
        Some(since) => Source::ledger(&session()?, since).await?,
        None => Source::open(args)?,
    };
    let mut fleet = Fleet::new(&args.candidates(), &assumptions, source.deployments().len());
    let mut curve = RateCurve::over(source.span());
    let bar = progress(source.arrivals());
    let mut seen = 0_u64;
    source.replay(&assumptions, |arrival: Arrival| {
        fleet.arrive(arrival);
        if arrival.deployment == 0 {
            curve.add(arrival.at);
        }
        seen += 1;
        if seen.is_multiple_of(PROGRESS) {
            bar.set_position(seen);
        }
    })?;
    bar.finish_and_clear();
    let (report, courses) = fleet.finish(source.deployments());
    if let Some(file) = &args.plot {
        write_chart(file, &svg(&source.title(), &curve, &courses))?;
    }
    let json = serde_json::to_vec(&report).unwrap_or_default();
    let document = Document::from_json(&json)
        .map_err(|_| Failure::fault("the result cannot be written as JSON"))?;
    output::show(format, &document, || Ok(table::tell(&report)))?;
    hold_to_objective(args, &report)
}

fn progress(arrivals: Option<u64>) -> ProgressBar {
    let Some(arrivals) = arrivals.filter(|_| std::io::stderr().is_terminal()) else {
        return ProgressBar::hidden();
    };
    let style =
        ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} arrivals, {eta} left");
    let bar = ProgressBar::new(arrivals);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn write_chart(file: &Path, svg: &str) -> Result<(), Failure> {
    std::fs::write(file, svg).map_err(|error| {
        let reason = error.kind();
        Failure::fault(format!("{} cannot be written: {reason}", file.display()))
    })
}

fn hold_to_objective(args: &Simulate, report: &Report) -> Result<(), Failure> {
    let Some(objective) = args.objective else {
        return Ok(());
    };
    let most = objective.as_secs_f64();
    let missed = report.policies.iter().filter(|p| p.response_p95_s > most);
    let lines: Vec<String> = missed
        .map(|p| {
            let policy = &p.policy;
            let p95 = p.response_p95_s;
            format!(
                "{policy} misses the objective: 95 of 100 are answered within {p95} s, not {most} s"
            )
        })
        .collect();
    match lines.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(lines)),
    }
}
