use std::fmt::Write;

use super::view::{Letter, Payload, Request};
use crate::failure::Failure;
use crate::output::{or_nothing, plain, table};
use crate::session::Session;

/// Prints one letter with all that is kept of it.
pub(super) async fn run(session: &Session, id: &str) -> Result<(), Failure> {
    let path = ["fleet", "dead-letters", id];
    let document = session.client.get(&path).await?;
    let letter: Letter = session.client.view(&document)?;
    session.show(&document, || Ok(description(&letter)))
}

fn description(letter: &Letter) -> String {
    let mut text = summary(letter);
    let request = letter.request.as_ref().map(head);
    for (title, section) in [
        ("Failures", failures(letter)),
        (
            "Request",
            request.unwrap_or_else(|| "not kept\n".to_owned()),
        ),
        ("Payload", payload(&letter.payload)),
    ] {
        let _ = write!(text, "\n{title}:\n");
        for line in section.lines() {
            let _ = writeln!(text, "  {}", plain(line));
        }
    }
    text
}

fn summary(letter: &Letter) -> String {
    let outcome = letter.outcome.as_ref();
    let replay = letter.not_replayable.as_deref().unwrap_or("possible");
    let cut = Some(letter.cut.join(", ")).filter(|cut| !cut.is_empty());
    let lines = [
        ("Id", letter.id.clone()),
        ("Deployment", letter.deployment.clone()),
        ("Class", letter.class.clone()),
        ("Fingerprint", letter.fingerprint.clone()),
        ("Attempts", letter.attempts.to_string()),
        ("State", letter.state.clone()),
        ("Replay", replay.to_owned()),
        ("Last replay", or_nothing(outcome.map(|it| it.sentence()))),
        ("First seen", letter.first_seen.clone()),
        ("Last seen", letter.last_seen.clone()),
        ("Left out", or_nothing(cut)),
    ];
    let line =
        |(title, value): (&str, String)| format!("{:<14}{}\n", format!("{title}:"), plain(&value));
    lines.into_iter().map(line).collect()
}

fn failures(letter: &Letter) -> String {
    if letter.failures.is_empty() {
        return "nobody lived to tell\n".to_owned();
    }
    let rows = letter.failures.iter().map(|failure| {
        vec![
            failure.worker.clone(),
            failure.kind.clone(),
            or_nothing(failure.status),
            failure.detail.clone(),
        ]
    });
    table(&["WORKER", "FAILURE", "STATUS", "DETAIL"], rows)
}

fn head(request: &Request) -> String {
    let mut text = format!("{} {}\n", request.method, request.target);
    for (name, value) in &request.headers {
        let _ = writeln!(text, "{name}: {value}");
    }
    text
}

fn payload(payload: &Payload) -> String {
    let Some(content) = &payload.content else {
        let kept = if payload.kept { "kept" } else { "not kept" };
        return format!("{} bytes, {kept}\n", payload.bytes);
    };
    let shown = payload.shown_bytes.unwrap_or(payload.bytes);
    let part = match shown < payload.bytes {
        true => format!("the first {shown} of {} bytes", payload.bytes),
        false => format!("{shown} bytes"),
    };
    let encoding = or_nothing(payload.encoding.as_deref());
    format!("({part}, {encoding})\n{content}\n")
}
