use std::sync::Arc;

use thermocline_policy::Moment;
use thermocline_policy::fleet::Terms;
use thermocline_wire::fleet::{Claim, Failure, FailureKind, Refusal};

use crate::hub::Hub;

/// The seat that a claim took anew.
pub(super) struct Seat {
    deployment: Arc<str>,
    worker: String,
}

impl Hub {
    /// Gives the worker of `claim` a seat at a deployment with a cap, unless it has one.
    ///
    /// # Errors
    /// [`Refusal::Capped`] where others have them all.
    pub(super) fn take_seat(
        &self,
        job: &str,
        claim: &Claim,
        now: Moment,
    ) -> Result<Option<Seat>, Refusal> {
        let Some(deployment) = self.lot().parked(job) else {
            return Ok(None); // the claim is refused for what became of it
        };
        let model = self.deployments().model(&deployment);
        let Some(cap) = model.and_then(|model| Terms::from(&model.terms).cap()) else {
            return Ok(None);
        };
        let holders = self.sightings().holders(&deployment, now);
        let mut seats = self.seats();
        let anew = seats.take((&deployment, cap), &claim.worker, &holders, now)?;
        Ok(anew.then(|| Seat {
            deployment,
            worker: claim.worker.clone(),
        }))
    }

    /// A claim that was refused all the same took no seat.
    pub(super) fn return_seat(&self, seat: Option<Seat>) {
        if let Some(seat) = seat {
            self.seats().leave(&seat.deployment, &seat.worker);
        }
    }

    /// Who could not load the model keeps nobody else from it.
    pub(super) fn leave_seat(&self, job: &str, failure: &Failure) {
        let unloaded = [FailureKind::OutOfCapacity, FailureKind::Incompatible];
        let deployment = self.lot().parked(job);
        if let Some(deployment) = deployment.filter(|_| unloaded.contains(&failure.kind)) {
            self.seats().leave(&deployment, &failure.worker);
        }
    }
}
