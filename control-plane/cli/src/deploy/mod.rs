//! `deploy`: all the deployments of all the files, or none.

mod document;
mod resolve;
mod source;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Deploy;
use crate::client::CallError;
use crate::failure::Failure;
use crate::output;
use crate::problem::{FieldProblem, Problem};
use crate::session::Session;
use source::{Files, Source};

/// What the server did, or would do, with the deployments.
#[derive(Debug, Deserialize)]
struct Applied {
    items: Vec<Change>,
}

#[derive(Debug, Deserialize)]
struct Change {
    name: String,
    created: bool,
    generation: u64,
    #[serde(default)]
    changes: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

/// Reads the files, sends what they hold in one call and prints what changed.
///
/// # Errors
/// Usage, with every mistake of every file, found here or by the server.
pub(crate) async fn run(session: &Session, args: &Deploy) -> Result<(), Failure> {
    let files = source::read(&args.files, &|name| std::env::var(name).ok());
    if !files.mistakes.is_empty() {
        return Err(mistakes(session, files).await);
    }
    let body = body(&files.sources, args.dry_run);
    let answer = session.client.put(&["deployments"], &body).await;
    let answer = answer.map_err(|error| in_files(error, &files.sources))?;
    let applied: Applied = session.client.view(&answer)?;
    for change in &applied.items {
        for warning in &change.warnings {
            output::note(&format!("{}: {warning}", change.name));
        }
    }
    session.show(&answer, || Ok(report(&applied, args.dry_run)))
}

fn body(sources: &[Source], dry_run: bool) -> Value {
    let specs: Vec<_> = sources.iter().map(|source| &source.spec).collect();
    json!({ "items": specs, "dry_run": dry_run })
}

/// What is wrong with files that cannot be sent as they are: a dry run tells
/// what else the server finds, so that all mistakes are listed at once.
async fn mistakes(session: &Session, files: Files) -> Failure {
    let Files {
        sources,
        mistakes: mut lines,
    } = files;
    if !sources.is_empty() {
        let dry_run = body(&sources, true);
        let answer = session.client.put(&["deployments"], &dry_run).await;
        if let Err(CallError::Declined(problem)) = answer {
            let fields = problem.fields().iter();
            let news = fields.filter(|wrong| !is_known(&wrong.field, &sources));
            lines.extend(news.map(|wrong| line(wrong, &sources)));
        }
    }
    Failure::usage(lines)
}

/// Whether a mistake at `field` follows from one that was found before.
fn is_known(field: &str, sources: &[Source]) -> bool {
    let Some((source, field)) = place(field, sources) else {
        return false;
    };
    let below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let known = |wrong: &String| field.strip_prefix(wrong.as_str()).is_some_and(below);
    source.wrong.iter().any(known)
}

fn report(applied: &Applied, dry_run: bool) -> String {
    let lines = applied.items.iter().flat_map(|change| {
        let details = change.changes.iter().map(|detail| format!("  {detail}"));
        std::iter::once(headline(change, dry_run)).chain(details)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn headline(change: &Change, dry_run: bool) -> String {
    let verb = match (change.created, change.changes.is_empty()) {
        (true, _) => "created",
        (false, false) => "updated",
        (false, true) => return format!("{} unchanged", change.name),
    };
    match dry_run {
        true => format!("{} would be {verb}", change.name),
        false => format!("{} {verb} (generation {})", change.name, change.generation),
    }
}

/// The server names a field by its place in the call; the user knows files and deployments.
fn in_files(error: CallError, sources: &[Source]) -> Failure {
    match error {
        CallError::Declined(problem) if !problem.fields().is_empty() => located(&problem, sources),
        other => other.into(),
    }
}

fn located(problem: &Problem, sources: &[Source]) -> Failure {
    let lines = problem.fields().iter();
    Failure::usage(lines.map(|wrong| line(wrong, sources)).collect())
}

fn line(wrong: &FieldProblem, sources: &[Source]) -> String {
    match place(&wrong.field, sources) {
        Some((source, "")) => format!("{}: {}", source.place, wrong.message),
        Some((source, field)) => format!("{}: {field}: {}", source.place, wrong.message),
        None => format!("{}: {}", wrong.field, wrong.message),
    }
}

/// Takes `items[1].policy.hold` apart.
fn place<'a>(field: &'a str, sources: &'a [Source]) -> Option<(&'a Source, &'a str)> {
    let (index, rest) = field.strip_prefix("items[")?.split_once(']')?;
    let source = sources.get(index.parse::<usize>().ok()?)?;
    Some((source, rest.strip_prefix('.').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(place: &str) -> Source {
        Source {
            place: place.to_owned(),
            name: None,
            spec: json!({}),
            wrong: vec!["env.A".to_owned()],
        }
    }

    #[test]
    fn a_field_is_shown_where_the_user_wrote_it() {
        let sources = [
            source("a.yaml: deployment x"),
            source("b.yaml: deployment y"),
        ];
        let shown = |field: &str| {
            let message = "must be finite".to_owned();
            line(
                &FieldProblem {
                    field: field.to_owned(),
                    message,
                },
                &sources,
            )
        };
        assert_eq!(
            shown("items[1].policy.promote_rps"),
            "b.yaml: deployment y: policy.promote_rps: must be finite"
        );
        assert_eq!(shown("items[0]"), "a.yaml: deployment x: must be finite");
        assert_eq!(shown("items[7].name"), "items[7].name: must be finite");
        assert_eq!(shown("dry_run"), "dry_run: must be finite");
        assert!(is_known("items[1].env.A", &sources));
        assert!(!is_known("items[1].env.AB", &sources));
        assert!(!is_known("dry_run", &sources));
    }
}
