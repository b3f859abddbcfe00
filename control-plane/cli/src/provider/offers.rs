use serde::Deserialize;
use thermocline_policy::Tier;
use thermocline_policy::fleet::Mib;

use crate::args::Offers;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, table};
use crate::session::Session;
use crate::view::List;
use yaml_serde::Value;

const COLUMNS: [&str; 8] = [
    "TIER",
    "OFFER",
    "GPU",
    "VRAM",
    "USD/H",
    "USD/S",
    "REGION",
    "AVAILABLE",
];

/// An offer and the tier that it is for.
#[derive(Debug, Deserialize)]
struct Offer {
    tier: String,
    id: String,
    gpu: String,
    vram_mib: u64,
    usd_per_hour: Option<f64>,
    usd_per_second: Option<f64>,
    #[serde(default)]
    region: String,
    available: bool,
}

/// Prints what the provider would sell now.
///
/// # Errors
/// Those of the calls.
pub(crate) async fn offers(session: &Session, args: &Offers) -> Result<(), Failure> {
    let tiers = args
        .tier
        .map_or(vec![Tier::Serverless, Tier::Pod], |tier| vec![tier]);
    let mut items = Vec::new();
    for tier in tiers {
        let (vram, gpus) = (
            Mib::covering(args.vram).0.to_string(),
            args.gpus.to_string(),
        );
        let query = [
            ("tier", tier.as_str()),
            ("vram_mib", &vram),
            ("gpus", &gpus),
        ];
        let path = ["providers", &args.name, "offers"];
        let document = session.client.get_where(&path, &query).await?;
        items.extend(
            document
                .items()
                .into_iter()
                .map(|offer| of_tier(offer, tier)),
        );
    }
    let document = Document::list(items);
    let list: List<Offer> = session.client.view(&document)?;
    if list.items.is_empty() {
        output::note("nothing is for sale as it is asked for");
    }
    session.show(&document, || {
        Ok(table(&COLUMNS, list.items.iter().map(row)))
    })
}

fn of_tier(mut offer: Value, tier: Tier) -> Value {
    if let Some(fields) = offer.as_mapping_mut() {
        fields.insert("tier".into(), tier.as_str().into());
    }
    offer
}

fn row(offer: &Offer) -> Vec<String> {
    let price = |usd: Option<f64>, digits| match usd {
        Some(usd) => format!("{usd:.digits$}"),
        None => "-".to_owned(),
    };
    vec![
        offer.tier.clone(),
        offer.id.clone(),
        offer.gpu.clone(),
        format!("{} GiB", offer.vram_mib / 1_024),
        price(offer.usd_per_hour, 4),
        price(offer.usd_per_second, 6),
        offer.region.clone(),
        if offer.available { "yes" } else { "no" }.to_owned(),
    ]
}
