//! `ps` and `describe`: what is deployed and what it does now.

use std::fmt::Write;

use crate::budget;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, dollars, or_nothing, plain, table};
use crate::session::Session;
use crate::view::{Decision, Deployment, Instance, List};

const COLUMNS: [&str; 9] = [
    "NAME",
    "STATE",
    "TIER",
    "REASON",
    "RPS",
    "IN-FLIGHT",
    "WAITING",
    "INSTANCES",
    "$/H",
];
/// How many decisions `describe` shows.
const LAST_DECISIONS: &str = "5";

/// Prints every deployment on a line.
///
/// # Errors
/// Those of the call.
pub(crate) async fn list(session: &Session) -> Result<(), Failure> {
    let document = session.client.get_all(&["deployments"]).await?;
    let list: List<Deployment> = session.client.view(&document)?;
    if list.items.is_empty() {
        output::note("no deployments; `thermocline deploy FILE` makes some");
    }
    session.show(&document, || Ok(overview(&list.items)))
}

fn overview(deployments: &[Deployment]) -> String {
    match deployments.is_empty() {
        true => String::new(),
        false => table(&COLUMNS, deployments.iter().map(row)),
    }
}

fn row(deployment: &Deployment) -> Vec<String> {
    let status = &deployment.status;
    vec![
        deployment.name.clone(),
        status.state.clone(),
        or_nothing(status.tier),
        short(status.reason.as_deref()),
        format!("{:.2}", status.rps),
        status.in_flight.to_string(),
        status.waiting.to_string(),
        status.instances.len().to_string(),
        or_nothing(status.usd_per_hour().map(dollars)),
    ]
}

/// The longest reason of a row, characters; `describe` shows all of it.
const LONGEST_REASON: usize = 60;

/// A reason that leaves its row readable.
fn short(reason: Option<&str>) -> String {
    let reason = or_nothing(reason);
    match reason.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", reason[..end].trim_end()),
        None => reason,
    }
}

/// Prints everything about one deployment.
///
/// # Errors
/// Not found, and those of the calls.
pub(crate) async fn describe(session: &Session, name: &str) -> Result<(), Failure> {
    let client = &session.client;
    let document = client.get(&["deployments", name]).await?;
    let deployment: Deployment = client.view(&document)?;
    let path = ["deployments", name, "decisions"];
    let decisions = client
        .get_where(&path, &[("limit", LAST_DECISIONS)])
        .await?;
    let decisions: List<Decision> = client.view(&decisions)?;
    session.show(&document, || {
        Ok(description(&deployment, &document, &decisions.items))
    })
}

fn description(deployment: &Deployment, document: &Document, decisions: &[Decision]) -> String {
    let spec = document.field("spec").yaml();
    let instances = instances(&deployment.status.instances);
    let decisions = history(decisions);
    let mut text = summary(deployment);
    for (title, section) in [
        ("Spec", spec),
        ("Instances", instances),
        ("Decisions", decisions),
    ] {
        let _ = write!(text, "\n{title}:\n{}", indented(&section));
    }
    text
}

fn summary(deployment: &Deployment) -> String {
    let status = &deployment.status;
    let lines = [
        ("Name", deployment.name.clone()),
        ("State", status.state.clone()),
        ("Tier", or_nothing(status.tier)),
        ("Reason", or_nothing(status.reason.as_deref())),
        ("Last error", or_nothing(status.last_error.as_deref())),
        ("RPS", format!("{:.2}", status.rps)),
        ("In flight", status.in_flight.to_string()),
        ("Waiting", status.waiting.to_string()),
        ("$/hour", or_nothing(status.usd_per_hour().map(dollars))),
        (
            "Budget",
            or_nothing(status.budget.as_ref().map(budget::short)),
        ),
        ("Generation", deployment.generation.to_string()),
        ("Created", or_nothing(deployment.created_at.as_deref())),
        ("Updated", or_nothing(deployment.updated_at.as_deref())),
    ];
    let line =
        |(title, value): (&str, String)| format!("{:<13}{}\n", format!("{title}:"), plain(&value));
    let warnings = status.warnings.iter().map(|it| ("Warning", it.clone()));
    lines.into_iter().chain(warnings).map(line).collect()
}

fn instances(instances: &[Instance]) -> String {
    if instances.is_empty() {
        return "none".to_owned();
    }
    let rows = instances.iter().map(|instance| {
        vec![
            instance.id.clone(),
            or_nothing(instance.provider.as_deref()),
            instance.tier.to_string(),
            instance.state.clone(),
            or_nothing(instance.since.as_deref()),
            or_nothing(instance.usd_per_hour.map(dollars)),
        ]
    });
    table(&["ID", "PROVIDER", "TIER", "STATE", "SINCE", "$/H"], rows)
}

fn history(decisions: &[Decision]) -> String {
    if decisions.is_empty() {
        return "none".to_owned();
    }
    let rows = decisions.iter().map(|decision| {
        vec![
            or_nothing(decision.id.as_ref()),
            decision.at.clone(),
            or_nothing(decision.current),
            decision.tier.to_string(),
            outcome(decision),
        ]
    });
    table(&["ID", "AT", "FROM", "TO", "REASON"], rows)
}

fn outcome(decision: &Decision) -> String {
    match decision.refused {
        true => format!("{} (refused)", decision.reason),
        false => decision.reason.clone(),
    }
}

fn indented(section: &str) -> String {
    section.lines().map(|line| format!("  {line}\n")).collect()
}
