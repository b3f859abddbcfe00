use super::report::{Checked, Clause, Miss};
use super::session::{Session, fresh_key};
use crate::{InstanceRequest, Mistake};

pub(super) const CHECK: Clause = Clause {
    name: "check",
    description: "It refuses nothing of the trial's request and a GPU that nobody has, names the field, and makes nothing.",
};

impl Session<'_> {
    /// To be tried before anything is made.
    pub(super) async fn check(&self) -> Checked {
        let said = self.provider.capabilities().await;
        let said = said.map_err(|error| format!("capabilities failed: {error}"))?;
        if !said.checks {
            return Err(Miss::Skipped("it says no checks".to_owned()));
        }
        if let Some(wrong) = self.mistakes(&self.request()).await?.first() {
            let Mistake { field, message, .. } = wrong;
            let why = format!("it refuses what the trial starts: {field}: {message}");
            return Err(Miss::Failed(why));
        }
        let unknown = InstanceRequest {
            gpu: vec![format!("no GPU {}", fresh_key())],
            ..self.request()
        };
        let mistakes = self.mistakes(&unknown).await?;
        if mistakes.is_empty() {
            return Err(Miss::Failed("it knows a GPU that nobody has".to_owned()));
        }
        let told = |it: &Mistake| !it.field.is_empty() && !it.message.is_empty();
        match mistakes.iter().all(told) {
            true if self.list().await?.is_empty() => Ok(()),
            true => Err(Miss::Failed("something was made".to_owned())),
            false => Err(Miss::Failed("a mistake names no field".to_owned())),
        }
    }

    async fn mistakes(&self, request: &InstanceRequest) -> Result<Vec<Mistake>, String> {
        let lacks = self.provider.lacks(request).await;
        let lacks = lacks.map_err(|error| format!("check failed: {error}"))?;
        Ok([self.provider.refuses(request), lacks].concat())
    }
}
