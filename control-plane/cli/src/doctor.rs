//! `doctor`: is the server there, does it let us in, is it well?

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use thermocline_policy::format_duration;
use yaml_serde::Value;

use crate::client::CallError;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{dollars, or_nothing, table};
use crate::session::Session;
use crate::view::{Gpu, List, Placed, Provider};

/// One question and its answer.
#[derive(Debug, Serialize)]
struct Check {
    check: String,
    ok: bool,
    detail: Option<String>,
}

impl Check {
    fn of(check: impl Into<String>, outcome: Result<(), CallError>) -> Self {
        let detail = outcome.err().map(|error| Failure::from(error).to_string());
        Check {
            check: check.into(),
            ok: detail.is_none(),
            detail,
        }
    }
}

/// Prints every check with its outcome.
///
/// # Errors
/// A fault when any of them says no.
pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    let checks = checks(session).await;
    let document = Document::from(yaml_serde::to_value(&checks).unwrap_or(Value::Null));
    session.show(&document, || {
        Ok(table(
            &["CHECK", "RESULT", "DETAIL"],
            checks.iter().map(row),
        ))
    })?;
    match checks.iter().filter(|check| !check.ok).count() {
        0 => Ok(()),
        wrong => Err(Failure::fault(format!(
            "{wrong} of {} checks failed",
            checks.len()
        ))),
    }
}

/// Later questions make no sense while earlier ones are answered with no.
async fn checks(session: &Session) -> Vec<Check> {
    let client = &session.client;
    let mut checks = vec![Check::of("server", client.probe("healthz").await)];
    if !checks[0].ok {
        return checks;
    }
    checks.push(Check::of("ready", client.probe("readyz").await));
    match ask(session).await {
        Ok((providers, deployments)) => {
            checks.push(Check::of("token", Ok(())));
            let local = deployments.iter().any(|it| it.spec.tiers.local.is_some());
            checks.extend(providers.iter().map(|it| provider(it, local)));
            checks.extend(providers.iter().flat_map(gpus));
            checks.extend(fleet(&deployments));
            checks.extend(exposure(&providers));
        }
        Err(error) => checks.push(Check::of("token", Err(error))),
    }
    checks
}

async fn ask(session: &Session) -> Result<(Vec<Provider>, Vec<Placed>), CallError> {
    let client = &session.client;
    let providers: List<Provider> = client.view(&client.get_all(&["providers"]).await?)?;
    let deployments: List<Placed> = client.view(&client.get_all(&["deployments"]).await?)?;
    Ok((providers.items, deployments.items))
}

/// A container daemon that is not there is no fault where no deployment has a
/// `local` tier, and nor is a provider that nobody has asked yet.
fn provider(provider: &Provider, local: bool) -> Check {
    let is_docker = provider.kind.as_deref() == Some("docker");
    let (ok, detail) = match provider.health.as_str() {
        "ok" => (true, None),
        "unknown" => (true, Some("not asked yet".to_owned())),
        "unavailable" if is_docker && !local => {
            let detail = "not there; no deployment has a local tier";
            (true, Some(detail.to_owned()))
        }
        health => {
            let cause = provider.last_error.as_deref().unwrap_or(health);
            (false, Some(cause.to_owned()))
        }
    };
    Check {
        check: format!("provider {}", provider.name),
        ok,
        detail,
    }
}

/// The GPUs that local instances can have.
fn gpus(provider: &Provider) -> Vec<Check> {
    let Some(found) = &provider.gpus else {
        return Vec::new();
    };
    let told = |check: String, detail: String| Check {
        check,
        ok: true,
        detail: Some(detail),
    };
    let mut checks: Vec<Check> = found
        .iter()
        .map(|gpu| told(format!("gpu {}", gpu.index), standing(gpu)))
        .collect();
    if let Some(error) = &provider.gpu_error {
        checks.push(Check {
            check: "gpus".to_owned(),
            ok: false,
            detail: Some(error.clone()),
        });
    } else if found.is_empty() {
        checks.push(told("gpus".to_owned(), "none found".to_owned()));
    }
    checks
}

/// A GPU's name, and what of it is taken.
fn standing(gpu: &Gpu) -> String {
    let used = gpu.used_mib.map_or("not told".to_owned(), gib);
    let (total, reserved) = (gib(gpu.total_mib), gib(gpu.reserved_mib));
    format!("{}: {total}, used {used}, reserved {reserved}", gpu.name)
}

fn gib(mib: u64) -> String {
    format!("{:.1} GiB", mib as f64 / 1024.0)
}

/// Why deployments of the shared fleet are not served, each reason once; nothing
/// where none is to run there.
fn fleet(deployments: &[Placed]) -> Vec<Check> {
    let ours = || deployments.iter().filter(|it| it.is_on_fleet());
    let mut waiting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for deployment in ours() {
        for warning in &deployment.status.warnings {
            waiting.entry(warning).or_default().push(&deployment.name);
        }
    }
    let check = |ok, detail| Check {
        check: "fleet".to_owned(),
        ok,
        detail,
    };
    let told = waiting
        .iter()
        .map(|(why, names)| check(false, Some(format!("{}: {why}", few(names)))));
    let mut checks: Vec<Check> = told.collect();
    if checks.is_empty() && ours().next().is_some() {
        checks.push(check(true, None));
    }
    checks
}

/// The first of `names`, and how many more there are.
fn few(names: &[&str]) -> String {
    let (first, rest) = names.split_at(names.len().min(3));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// What goes on to be paid if this server never comes back: for how long, where
/// pods end by themselves, and what that comes to.
fn exposure(providers: &[Provider]) -> Vec<Check> {
    let told = |check: &str, detail: String| Check {
        check: check.to_owned(),
        ok: true,
        detail: Some(detail),
    };
    let (bounded, endless): (Vec<&Provider>, Vec<&Provider>) = providers
        .iter()
        .filter(|provider| provider.committed_usd_per_hour > 0.0)
        .partition(|provider| provider.max_absence_s.is_some());
    let usd: f64 = endless.iter().map(|p| p.committed_usd_per_hour).sum();
    let mut checks = Vec::new();
    if usd > 0.0 {
        checks.push(told(
            "exposure",
            format!(
                "${} an hour goes on until somebody deletes it if this server never comes back",
                dollars(usd)
            ),
        ));
    }
    checks.extend(bounded.into_iter().map(|provider| {
        let absence = Duration::from_secs(provider.max_absence_s.unwrap_or(0));
        let hours = absence.as_secs_f64() / 3_600.0;
        let usd = provider.committed_usd_per_hour;
        told(
            &format!("exposure {}", provider.name),
            format!(
                "${} an hour goes on for {}, ${} in all, if this server never comes back",
                dollars(usd),
                format_duration(absence),
                dollars(usd * hours)
            ),
        )
    }));
    checks
}

fn row(check: &Check) -> Vec<String> {
    let result = if check.ok { "ok" } else { "FAILED" };
    vec![
        check.check.clone(),
        result.to_owned(),
        or_nothing(check.detail.as_deref()),
    ]
}
