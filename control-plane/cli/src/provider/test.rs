use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use thermocline_plugin::PluginProvider;
use thermocline_policy::Tier;
use thermocline_provider::conformance::{Outcome, Probe, Report, Setup, Verdict, run_telling};
use thermocline_provider::{Address, Capabilities, InstanceRequest, Provider};
use tokio::time::{Instant, timeout_at};

use crate::args::ProviderTest;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, Format};

/// The deployment that instances of a trial are for.
const DEPLOYMENT: &str = "conformance";
/// How long one try of an address may take.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// Holds the adapter at a URL to every clause, and prints how it did.
///
/// # Errors
/// Usage, when the command line is wrong; a fault, when the adapter cannot be
/// asked; refused, when a clause failed.
pub(crate) async fn test(format: Format, args: &ProviderTest) -> Result<(), Failure> {
    let provider = PluginProvider::connect(&args.url, token(args)?)
        .map_err(|error| Failure::mistake(error.detail))?;
    let ends = Instant::now() + args.timeout;
    let said = asked(&provider, ends).await?;
    let tiers = match args.tier {
        None => said.tiers,
        // Nothing is made, and paid for, that cannot pass.
        Some(tier) if !said.tiers.contains(&tier) => {
            let line = format!("capabilities: it lacks tier {tier}");
            return Err(Failure::refused(vec![line]));
        }
        Some(tier) => vec![tier],
    };
    let (mut items, mut failed) = (Vec::new(), Vec::new());
    for tier in tiers {
        output::note(&format!(
            "{tier}: a trial makes up to five instances and deletes them again"
        ));
        let setup = setup(args, tier, ends)?;
        let report = run_telling(&provider, &setup, |verdict| tell(tier, verdict)).await;
        failed.extend(
            report
                .failures()
                .map(|verdict| format!("{tier}: {verdict}")),
        );
        items.extend(described(&report, tier));
    }
    if items.is_empty() {
        return Err(Failure::refused(vec![
            "the adapter names no tier".to_owned(),
        ]));
    }
    let text = text(&items);
    let document = json!({ "items": items, "next": null }).to_string();
    let document = Document::from_json(document.as_bytes())
        .map_err(|_| Failure::fault("the report cannot be written"))?;
    output::show(format, &document, || Ok(text))?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(failed)),
    }
}

/// What the adapter says that it can do, by `ends`.
async fn asked(provider: &PluginProvider, ends: Instant) -> Result<Capabilities, Failure> {
    output::note("asking the adapter what it can do");
    let said = timeout_at(ends, provider.capabilities()).await;
    let said = said.map_err(|_| Failure::fault("the adapter does not answer"))?;
    said.map_err(|error| match error.is_answer() {
        true => Failure::refused(vec![format!("capabilities: {error}")]),
        false => Failure::fault(format!("the adapter cannot be asked: {error}")),
    })
}

/// Says on stderr how the adapter did on a clause, as soon as that is known.
fn tell(tier: Tier, verdict: &Verdict) {
    let name = verdict.clause.name;
    output::note(&match &verdict.outcome {
        Outcome::Passed => format!("{tier}: {name}: passed"),
        Outcome::Failed(why) => format!("{tier}: {name}: failed: {why}"),
        Outcome::Skipped(why) => format!("{tier}: {name}: skipped: {why}"),
    });
}

fn token(args: &ProviderTest) -> Result<Option<String>, Failure> {
    let Some(variable) = &args.token_env else {
        return Ok(None);
    };
    let token = std::env::var(variable)
        .ok()
        .filter(|token| !token.is_empty());
    token
        .map(Some)
        .ok_or_else(|| Failure::mistake(format!("--token-env: {variable} is not set")))
}

fn setup(args: &ProviderTest, tier: Tier, ends: Instant) -> Result<Setup, Failure> {
    let request = json!({
        "owner": "", "deployment": DEPLOYMENT, "tier": tier, "image": args.image,
        "port": args.port, "ready_path": args.ready_path, "gpus": args.gpus,
        "max_workers": 1, "idle_timeout_s": 30,
    });
    let request: InstanceRequest = serde_json::from_value(request)
        .map_err(|_| Failure::fault("the trial's request cannot be written"))?;
    Ok(Setup {
        ready_within: args.ready_within,
        lifetime: args.lifetime,
        probe: Some(Arc::new(Http::new()?)),
        limit: Some(ends.saturating_duration_since(Instant::now())),
        ..Setup::new(request)
    })
}

/// Tries an address over HTTP, with TLS where it says so.
struct Http(reqwest::Client);

impl Http {
    fn new() -> Result<Self, Failure> {
        let client = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(PROBE_LIMIT)
            .build();
        client
            .map(Http)
            .map_err(|_| Failure::fault("cannot set up TLS on this machine"))
    }
}

#[async_trait]
impl Probe for Http {
    async fn status(&self, address: &Address, path: &str) -> Result<u16, String> {
        let mut request = self
            .0
            .get(format!("{}{path}", address.url.trim_end_matches('/')));
        for (name, value) in &address.headers {
            request = request.header(name, value);
        }
        let response = request.send().await;
        let response = response.map_err(|_| "it cannot be reached".to_owned())?;
        Ok(response.status().as_u16())
    }
}

fn described(report: &Report, tier: Tier) -> impl Iterator<Item = Value> {
    report.verdicts().iter().map(move |verdict| {
        let (outcome, why) = match &verdict.outcome {
            Outcome::Passed => ("passed", None),
            Outcome::Failed(why) => ("failed", Some(why)),
            Outcome::Skipped(why) => ("skipped", Some(why)),
        };
        json!({
            "tier": tier, "clause": verdict.clause.name, "outcome": outcome,
            "description": verdict.clause.description, "why": why,
        })
    })
}

fn text(items: &[Value]) -> String {
    let columns = ["TIER", "CLAUSE", "OUTCOME", "WHY"];
    let cell = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let rows = items
        .iter()
        .map(|item| ["tier", "clause", "outcome", "why"].map(|key| cell(item, key)));
    output::table(&columns, rows.map(Vec::from))
}
