//! `simulate`: what policies would have cost for the arrivals of a trace.

mod args;
mod chart;
mod known;
mod ledger;
mod source;
mod table;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use thermocline_simulate::{Arrival, Fleet, Report};

pub(crate) use args::Simulate;
use chart::Plot;
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
    let session = args.from_ledger.is_some().then(session).transpose()?;
    let source = match (args.from_ledger, &session) {
        (Some(since), Some(session)) => Source::ledger(session, since).await?,
        _ => Source::open(args)?,
    };
    let mut plot = Plot::open(args.plot.as_deref(), &source)?;
    let assumed = source.assume(args, session.as_ref()).await?;
    let mut fleet = Fleet::of(&args.candidates(), &args.assumptions(), assumed.clone());
    let bar = progress(source.arrivals());
    let mut seen = 0_u64;
    source.replay(&assumed, |arrival: Arrival| {
        fleet.arrive(arrival);
        plot.add(&arrival);
        seen += 1;
        if seen.is_multiple_of(PROGRESS) {
            bar.set_position(seen);
        }
    })?;
    bar.finish_and_clear();
    let (report, courses) = fleet.finish(source.deployments());
    plot.write(&source, courses)?;
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
