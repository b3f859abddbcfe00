use clap::ValueEnum;

use super::view::{Group, Letter};
use super::{List, State};
use crate::failure::Failure;
use crate::output::{self, table};
use crate::session::Session;
use crate::view;

const LETTERS: [&str; 7] = [
    "ID",
    "DEPLOYMENT",
    "CLASS",
    "FAILURE",
    "ATTEMPTS",
    "STATE",
    "LAST SEEN",
];
const GROUPS: [&str; 7] = [
    "FINGERPRINT",
    "LETTERS",
    "REPLAYABLE",
    "CLASSES",
    "DEPLOYMENTS",
    "FAILURE",
    "LAST SEEN",
];
/// The most characters of what was said of a failure in a line.
const LONGEST: usize = 60;

/// Prints the letters that were asked for, a line each.
pub(super) async fn letters(session: &Session, args: &List) -> Result<(), Failure> {
    let path = ["fleet", "dead-letters"];
    let filter = filter(args);
    let query: Vec<_> = filter.iter().map(|(key, value)| (*key, &**value)).collect();
    let document = session.client.get_all_where(&path, &query).await?;
    let list: view::List<Letter> = session.client.view(&document)?;
    note_when_empty(list.items.is_empty());
    session.show(&document, || {
        Ok(lines(&LETTERS, list.items.iter().map(letter)))
    })
}

/// Prints the groups that were asked for, a line each.
pub(super) async fn groups(session: &Session, args: &List) -> Result<(), Failure> {
    let path = ["fleet", "dead-letters"];
    let filter = filter(args);
    let mut query: Vec<_> = filter.iter().map(|(key, value)| (*key, &**value)).collect();
    query.push(("group", "fingerprint"));
    let document = session.client.get_where(&path, &query).await?;
    let list: view::List<Group> = session.client.view(&document)?;
    note_when_empty(list.items.is_empty());
    session.show(&document, || {
        Ok(lines(&GROUPS, list.items.iter().map(group)))
    })
}

fn note_when_empty(empty: bool) {
    if empty {
        output::note("no such dead letters");
    }
}

fn lines(header: &[&str], rows: impl ExactSizeIterator<Item = Vec<String>>) -> String {
    match rows.len() {
        0 => String::new(),
        _ => table(header, rows),
    }
}

fn filter(args: &List) -> Vec<(&'static str, String)> {
    let state = (args.state != State::All).then_some(args.state);
    let filters = [
        ("class", args.class.and_then(word)),
        ("deployment", args.deployment.clone()),
        ("fingerprint", args.fingerprint.clone()),
        ("state", state.and_then(word)),
    ];
    filters
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

fn word(value: impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_owned())
}

fn letter(letter: &Letter) -> Vec<String> {
    vec![
        letter.id.clone(),
        letter.deployment.clone(),
        letter.class.clone(),
        failure(&letter.kind, &letter.detail),
        letter.attempts.to_string(),
        letter.state.clone(),
        letter.last_seen.clone(),
    ]
}

fn group(group: &Group) -> Vec<String> {
    vec![
        group.fingerprint.clone(),
        group.letters.to_string(),
        group.replayable.to_string(),
        group.classes.join(", "),
        group.deployments.join(", "),
        failure(&group.kind, &group.detail),
        group.last_seen.clone(),
    ]
}

fn failure(kind: &str, detail: &str) -> String {
    let short: String = detail.chars().take(LONGEST).collect();
    let end = if short.len() < detail.len() {
        "…"
    } else {
        ""
    };
    match short.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind}: {short}{end}"),
    }
}
