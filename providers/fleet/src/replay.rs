//! Requests that are run once more, without a client.

use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::fleet::{ParkedRequest, Replayed};
use thermocline_wire::fleet::FailureKind;
use ulid::Ulid;

use crate::access::secret;
use crate::answer::Stay;
use crate::excuse::{End, Excuse};
use crate::hub::Hub;
use crate::parked::{Answer, Parked, Payload, Reply};
use crate::payload;

impl Hub {
    /// Parks `request` and waits for its end; `None` when it could not be put
    /// into the queue.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(crate) async fn replay(
        self: &Arc<Self>,
        mut request: ParkedRequest,
        within: Duration,
    ) -> Result<Option<Replayed>, Excuse> {
        if self.deployments().model(&request.deployment).is_none() {
            return Ok(Some(Replayed::Withdrawn));
        }
        let place = self.lounge.enter().map_err(|_| Excuse::Full)?;
        let body = std::mem::take(&mut request.payload);
        let payload = payload::whole(body, &self.lounge)?;
        let now = self.clock.now();
        let parked = parked(request, payload, (now, now + within));
        let mut stay = Stay::new(self.clone(), parked.deadline, place);
        stay.id = Some(parked.id.clone());
        let replayed = async {
            match self.reply(parked).await {
                Reply::Answer(answer) => read_away(answer).await,
                Reply::Excused(excuse) => (excused(excuse), excuse.into()),
            }
        };
        let replayed = self.clock.timeout_at(now + within, replayed).await;
        let expired = |_| (Some(Replayed::Expired), Excuse::Deadline.into());
        let (replayed, end) = replayed.unwrap_or_else(expired);
        stay.end = Some(end);
        Ok(replayed)
    }
}

/// Nobody reads the result; its worker is told that it was taken.
async fn read_away(mut answer: Answer) -> (Option<Replayed>, End) {
    loop {
        match answer.body.recv().await {
            Some(Some(_)) => {}
            Some(None) => break,
            None => {
                let failed = Replayed::Failed(FailureKind::RuntimeFailed);
                return (Some(failed), End::BrokeOff);
            }
        }
    }
    let _gone = answer.taken.send(());
    (Some(Replayed::Answered(answer.head.status)), End::Answered)
}

fn excused(excuse: Excuse) -> Option<Replayed> {
    match excuse {
        Excuse::Failed(kind) => Some(Replayed::Failed(kind)),
        Excuse::Poison => Some(Replayed::Poison),
        Excuse::Undeliverable => Some(Replayed::Failed(FailureKind::WorkerLost)),
        Excuse::NoQueue => None,
        _ => Some(Replayed::Withdrawn),
    }
}

fn parked(
    request: ParkedRequest,
    payload: Payload,
    (arrived, deadline): (Moment, Moment),
) -> Parked {
    Parked {
        id: Ulid::generate().to_string(),
        deployment: request.deployment.into(),
        ticket: secret(),
        method: request.method,
        target: request.target,
        headers: request.headers,
        payload,
        traceparent: None,
        arrived,
        deadline,
    }
}
