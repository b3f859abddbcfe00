use std::collections::HashSet;

use futures_util::FutureExt;
use thermocline_policy::NanoUsd;
use thermocline_wire::provider::PROTOCOL;

use super::report::{Checked, Clause, Miss};
use super::session::{Session, fresh_key};
use crate::{Capabilities, Offer, OfferQuery, ProviderInstance};

/// Pages after which a list is taken for endless; a run makes five instances.
const MOST_PAGES: usize = 1_000;

pub(super) const CAPABILITIES: Clause = Clause {
    name: "capabilities",
    description: "It names itself, the protocol's version and the tier under trial.",
};
pub(super) const OFFERS: Clause = Clause {
    name: "offers",
    description: "Offers have distinct ids and, where prices are promised, a price that is a sum of money.",
};
pub(super) const UNKNOWN: Clause = Clause {
    name: "unknown-id",
    description: "An id that never was is absent to get and fine to delete.",
};
pub(super) const GET: Clause = Clause {
    name: "get-after-create",
    description: "What was created can be got by its id, with our key and owner.",
};
pub(super) const OWN: Clause = Clause {
    name: "list-own",
    description: "What was created is in its owner's list, with our key and owner.",
};
pub(super) const STRANGER: Clause = Clause {
    name: "list-other-owner",
    description: "Another owner's list does not show it.",
};
pub(super) const PAGES: Clause = Clause {
    name: "list-pages",
    description: "The pages end, repeat nothing and say that they are complete.",
};

impl Session<'_> {
    pub(super) async fn capabilities(&self) -> Checked {
        let said = self.provider.capabilities().await;
        let said = said.map_err(|error| format!("capabilities failed: {error}"))?;
        let tier = self.setup.request.tier;
        let Capabilities {
            protocol,
            name,
            tiers,
            ..
        } = said;
        match () {
            () if protocol != PROTOCOL => Err(Miss::Failed(format!("version {protocol}"))),
            () if name.is_empty() => Err(Miss::Failed("it has no name".to_owned())),
            () if !tiers.contains(&tier) => Err(Miss::Failed(format!("it lacks tier {tier}"))),
            () => Ok(()),
        }
    }

    pub(super) async fn offers(&self) -> Checked {
        let said = self.provider.capabilities().await;
        let priced = said.is_ok_and(|said| said.prices);
        let request = &self.setup.request;
        let query = OfferQuery {
            tier: request.tier,
            vram_mib: request.vram_mib,
            gpus: request.gpus,
        };
        let offers = self.provider.offers(query).await;
        let offers = offers.map_err(|error| format!("offers failed: {error}"))?;
        let mut ids = HashSet::new();
        for offer in &offers {
            if offer.id.is_empty() || !ids.insert(&offer.id) {
                return Err(Miss::Failed("an id is empty or doubled".to_owned()));
            }
            if !is_sane(offer, priced) {
                return Err(Miss::Failed("a price is missing or no sum".to_owned()));
            }
        }
        Ok(())
    }

    pub(super) async fn unknown_id(&self) -> Checked {
        let id = fresh_key().to_lowercase();
        if self.get(&id).await?.is_some() {
            return Err(Miss::Failed("get found it".to_owned()));
        }
        let deletion = self.provider.delete(&id).await;
        deletion.map_err(|error| format!("delete failed: {error}"))?;
        Ok(())
    }

    pub(super) async fn get_after_create(&self) -> Checked {
        let subject = self.subject()?;
        let within = self.setup.visible_within;
        let found = self.eventually(within, || self.find_by_id(&subject.id).boxed());
        same_instance(subject, &found.await?)
    }

    pub(super) async fn list_own(&self) -> Checked {
        let subject = self.subject()?;
        let within = self.setup.visible_within;
        let found = self.eventually(within, || self.find_in_list(&subject.id).boxed());
        same_instance(subject, &found.await?)
    }

    async fn find_by_id(&self, id: &str) -> Result<ProviderInstance, String> {
        let found = self.get(id).await?;
        found.ok_or_else(|| "get does not know it".to_owned())
    }

    async fn find_in_list(&self, id: &str) -> Result<ProviderInstance, String> {
        let mut listed = self.list().await?.into_iter();
        let found = listed.find(|instance| instance.id == id);
        found.ok_or_else(|| "it is not listed".to_owned())
    }

    pub(super) async fn list_stranger(&self) -> Checked {
        let subject = self.subject()?;
        let stranger = format!("conformance-{}", fresh_key());
        let page = self.provider.list(&stranger, None).await;
        let page = page.map_err(|error| format!("list failed: {error}"))?;
        if page.instances.iter().any(|other| other.id == subject.id) {
            return Err(Miss::Failed("it is listed there".to_owned()));
        }
        Ok(())
    }

    pub(super) async fn list_pages(&self) -> Checked {
        self.subject()?;
        let (mut ids, mut cursors, mut cursor) = (HashSet::new(), HashSet::new(), None);
        loop {
            let page = self.provider.list(&self.owner, cursor.as_deref()).await;
            let page = page.map_err(|error| format!("list failed: {error}"))?;
            if !page.complete {
                return Err(Miss::Failed("a page is not complete".to_owned()));
            }
            if !page.instances.into_iter().all(|it| ids.insert(it.id)) {
                return Err(Miss::Failed("an instance is listed twice".to_owned()));
            }
            match page.next {
                None => return Ok(()),
                Some(_) if cursors.len() == MOST_PAGES => {
                    return Err(Miss::Failed("the pages do not end".to_owned()));
                }
                Some(next) if !cursors.insert(next.clone()) => {
                    return Err(Miss::Failed("the pages go in a circle".to_owned()));
                }
                Some(next) => cursor = Some(next),
            }
        }
    }
}

fn is_sane(offer: &Offer, priced: bool) -> bool {
    let mut prices = [offer.usd_per_hour, offer.usd_per_second]
        .into_iter()
        .flatten();
    let stated = offer.usd_per_hour.or(offer.usd_per_second).is_some();
    (stated || !priced) && prices.all(|price| NanoUsd::price(price).is_some())
}

fn same_instance(made: &ProviderInstance, seen: &ProviderInstance) -> Checked {
    if (&made.id, &made.key, &made.owner) == (&seen.id, &seen.key, &seen.owner) {
        return Ok(());
    }
    Err(Miss::Failed("its id, key or owner differs".to_owned()))
}
