use futures_util::FutureExt;

use super::probe::Probe;
use super::report::{Checked, Clause, Miss};
use super::session::Session;
use crate::{Address, ProviderInstance, ProviderState, check_address};

pub(super) const READY: Clause = Clause {
    name: "ready",
    description: "It becomes ready in time.",
};
pub(super) const ANSWERS: Clause = Clause {
    name: "address-answers",
    description: "Once it is ready, its address can be sent to, and HTTP is answered there.",
};
pub(super) const CONSISTENT: Clause = Clause {
    name: "address-only-when-ready",
    description: "Whenever an instance is seen, it has an id, and an address exactly while ready.",
};

impl Session<'_> {
    pub(super) async fn becomes_ready(&mut self) -> Checked {
        let id = self.subject()?.id.clone();
        let within = self.setup.ready_within;
        let settled = self.eventually(within, || self.settled(&id).boxed());
        let settled = settled.await?;
        if settled.state == ProviderState::Failed {
            return Err(Miss::Failed(format!("it failed: {}", settled.detail)));
        }
        self.subject = Some(settled);
        Ok(())
    }

    pub(super) async fn address_answers(&self) -> Checked {
        let Some(probe) = self.setup.probe.as_deref() else {
            return Err(Miss::Skipped("the setup leaves it out".to_owned()));
        };
        let address = self.ready_address()?;
        check_address(address).map_err(Miss::Failed)?;
        let within = self.setup.ready_within;
        self.eventually(within, || self.answers(probe, address).boxed())
            .await?;
        Ok(())
    }

    /// The instance, when it is ready or never will be.
    async fn settled(&self, id: &str) -> Result<ProviderInstance, String> {
        let seen = self.get(id).await?;
        let seen = seen.ok_or_else(|| "it vanished".to_owned())?;
        match seen.state {
            ProviderState::Ready | ProviderState::Failed => Ok(seen),
            state => Err(format!("it stayed {state:?}")),
        }
    }

    async fn answers(&self, probe: &dyn Probe, address: &Address) -> Result<(), String> {
        let path = match self.setup.request.ready_path.as_str() {
            "" => "/",
            path => path,
        };
        let reached = self.provider.reach(address);
        match probe.status(&reached, path).await? {
            200..=299 => Ok(()),
            status => Err(format!("it answered with status {status}")),
        }
    }

    pub(super) fn consistent(&self) -> Checked {
        match self.contradiction() {
            None => Ok(()),
            Some(contradiction) => Err(Miss::Failed(contradiction)),
        }
    }

    fn ready_address(&self) -> Checked<&Address> {
        let address = self.subject()?.address.as_ref();
        address.ok_or_else(|| Miss::Skipped("it has no address".to_owned()))
    }
}
