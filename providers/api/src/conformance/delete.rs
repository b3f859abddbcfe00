use futures_util::FutureExt;

use super::report::{Checked, Clause};
use super::session::Session;
use crate::{ProviderInstance, ProviderState};

pub(super) const TWICE: Clause = Clause {
    name: "delete-twice",
    description: "Deleting it is accepted, and so is deleting it again.",
};
pub(super) const ABSENT: Clause = Clause {
    name: "deleted-absent",
    description: "What was deleted is in time unknown to get and absent from a complete list.",
};
pub(super) const CLEANUP: Clause = Clause {
    name: "cleanup",
    description: "Everything that the run made can be deleted.",
};

impl Session<'_> {
    pub(super) async fn delete_twice(&self) -> Checked {
        let id = &self.subject()?.id;
        self.delete(id).await?;
        self.delete(id).await?;
        Ok(())
    }

    pub(super) async fn deleted_absent(&self) -> Checked {
        let id = &self.subject()?.id;
        let within = self.setup.gone_within;
        self.eventually(within, || self.absent(id).boxed()).await?;
        Ok(())
    }

    /// Deletes all that the run made or finds under its owner, and sees it go.
    pub(super) async fn cleanup(&self) -> Checked {
        let within = self.setup.gone_within;
        self.eventually(within, || self.sweep().boxed()).await?;
        Ok(())
    }

    /// Deletes all that is known of, whatever fails on the way, and says what is left.
    async fn sweep(&self) -> Result<(), String> {
        let listed = self.list().await;
        let living = listed.iter().flatten().filter(|seen| lives(seen));
        let living: Vec<_> = living.map(|seen| seen.id.clone()).collect();
        let mut swept = Ok(());
        for id in self.made().iter().chain(&living) {
            swept = swept.and(self.delete(id).await);
        }
        swept.and(listed)?;
        match living.len() {
            0 => Ok(()),
            left => Err(format!("{left} instances are left")),
        }
    }

    /// Whether neither get nor a complete list has it.
    pub(super) async fn absent(&self, id: &str) -> Result<(), String> {
        if self.get(id).await?.is_some_and(|seen| lives(&seen)) {
            return Err("get still finds it".to_owned());
        }
        let listed = self.list().await?;
        if listed.iter().any(|seen| seen.id == id && lives(seen)) {
            return Err("it is still listed".to_owned());
        }
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), String> {
        let deletion = self.provider.delete(id).await;
        deletion.map_err(|error| format!("delete failed: {error}"))?;
        Ok(())
    }
}

fn lives(instance: &ProviderInstance) -> bool {
    instance.state != ProviderState::Gone
}
