//! Requests that are run once more, without a client.

use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::fleet::{ParkedRequest, Replayed};
use thermocline_wire::fleet::FailureKind;
use ulid::Ulid;

use crate::access::secret;
use crate::answer::Stay;
use crate::body::Excuse;
use crate::hub::Hub;
use crate::parked::{Answer, Parked, Payload, Reply};
use crate::payload;
use crate::tally::Ended;

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
        let place = self.lounge.enter().map_err(|_| payload::FULL)?;
        let body = std::mem::take(&mut request.payload);
        let payload = payload::whole(body, &self.lounge)?;
        let now = self.clock.now();
        let parked = parked(request, payload, (now, now + within));
        let (deadline, mut stay) = (parked.deadline, Stay::new(self.clone(), &parked, place));
        let reply = self.clock.timeout_at(deadline, self.reply(parked)).await;
        let (replayed, ended) = match reply {
            Err(_) => (Some(Replayed::Expired), Ended::Expired),
            Ok(None) => (None, Ended::Withdrawn),
            Ok(Some(reply)) => self.outcome(reply, deadline).await,
        };
        stay.ended = Some(ended);
        Ok(replayed)
    }

    async fn outcome(&self, reply: Reply, deadline: Moment) -> (Option<Replayed>, Ended) {
        let (replayed, ended) = match reply {
            Reply::Answer(answer) => self.read_away(answer, deadline).await,
            Reply::Failed(kind) => (Replayed::Failed(kind), Ended::Failed),
            Reply::Poison => (Replayed::Poison, Ended::Poison),
            Reply::Undeliverable => (Replayed::Failed(FailureKind::WorkerLost), Ended::Failed),
            Reply::Withdrawn => (Replayed::Withdrawn, Ended::Withdrawn),
        };
        (Some(replayed), ended)
    }

    /// Nobody reads the result; its worker is told that it was taken.
    async fn read_away(&self, mut answer: Answer, deadline: Moment) -> (Replayed, Ended) {
        loop {
            match self.clock.timeout_at(deadline, answer.body.recv()).await {
                Ok(Some(Some(_))) => {}
                Ok(Some(None)) => break,
                Ok(None) => {
                    return (Replayed::Failed(FailureKind::RuntimeFailed), Ended::Failed);
                }
                Err(_) => return (Replayed::Expired, Ended::Expired),
            }
        }
        let _gone = answer.taken.send(());
        (Replayed::Answered(answer.head.status), Ended::Answered)
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
