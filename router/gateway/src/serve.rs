//! One request whose deployment is known: a place for it, and what comes of that.

use std::pin::pin;
use std::sync::Arc;

use http::Response;
use thermocline_policy::{Observation, Tier};
use thermocline_table::{Arrived, Listed, Start};

use crate::acquire::{MOST_DECISIONS, Place, just_gone};
use crate::attempt::Forwarded;
use crate::body::ResponseBody;
use crate::call::{Call, Stamp};
use crate::deadline::patience;
use crate::gateway::Gateway;
use crate::inbound::Inbound;
use crate::refusal::{Refusal, refuse};
use crate::settle::Arrival;
use crate::upstream::Framing;

impl Gateway {
    /// Serves a request whose deployment is known.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        call: &mut Call<'_>,
        body: Inbound,
        stamp: &mut Stamp,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let path = &call.parts.uri.path()[call.prefix.unwrap_or(0)..];
        call.counted = !call.config.ignore.is_match(path);
        let deployment = call.deployment;
        let seen = call.counted.then(|| deployment.record(call.arrived));
        let arrival = Arrival::new(self.list(call));
        if call.checked.seen.patience {
            match patience(&call.parts.headers, &call.config.settings, call.arrived) {
                Ok(patience) => call.patience = patience,
                Err(refusal) => return Err(ended(arrival, refusal)),
            }
        }
        self.see_through(call, body, seen, arrival, stamp).await
    }

    /// Finds a place and forwards; begins anew where what stood there is gone and did
    /// nothing with the request.
    async fn see_through(
        self: &Arc<Self>,
        call: &mut Call<'_>,
        mut body: Inbound,
        mut seen: Option<Observation>,
        mut arrival: Arrival,
        stamp: &mut Stamp,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let ongoing = arrival.ongoing().clone();
        for _ in 0..MOST_DECISIONS {
            let found = {
                let find = pin!(self.find(call, &mut body, seen.take(), &mut arrival, stamp));
                ongoing.unless_cancelled(find).await
            };
            let place = match found {
                Some(Ok(place)) => place,
                Some(Err(refusal)) => return Err(ended(arrival, refusal)),
                None => return Err(ended(arrival, Refusal::cancelled())),
            };
            // Boxed: a request that waits should not carry the room for forwarding.
            let mut forward = Box::pin(self.forward(call, place, body, arrival, stamp));
            match ongoing.unless_cancelled(forward.as_mut()).await {
                None => return Err(Refusal::cancelled()),
                Some(Forwarded::Answered(response)) => return Ok(response),
                Some(Forwarded::Refused(refusal, arrival)) => return Err(ended(arrival, refusal)),
                Some(Forwarded::Gone(whole, open)) => (body, arrival) = (whole, open),
            }
        }
        Err(ended(arrival, just_gone()))
    }

    /// Lists a request among those in flight.
    fn list(&self, call: &Call<'_>) -> Listed {
        self.table.in_flight.enter(Arrived {
            deployment: call.deployment,
            at: call.arrived,
            tier: call.deployment.current().unwrap_or(Tier::Serverless),
            method: &call.parts.method,
            path: call.parts.uri.path(),
            request_id: call.id.to_str().unwrap_or_default(),
        })
    }

    /// Finds a tier that serves and a place in it. A tier that goes away while
    /// the request waits for a place is decided about anew.
    async fn find(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: &mut Inbound,
        mut seen: Option<Observation>,
        arrival: &mut Arrival,
        stamp: &mut Stamp,
    ) -> Result<Place, Refusal> {
        check_state(call)?;
        let mut turn = None;
        for _ in 0..MOST_DECISIONS {
            let served = self.find_tier(call, body, seen.take(), stamp).await?;
            arrival.serve(&served);
            stamp.serve(&served);
            let let_in = matches!(served.start, Start::Cold | Start::Joined);
            let entered = match turn.take() {
                Some(entered) => entered,
                None => self.enter(call, body, let_in).await?,
            };
            match self.pick(call, body, served.tier, &[]).await? {
                Some(backend) => {
                    return Ok(Place {
                        turn: entered,
                        backend: match call.counted {
                            true => backend,
                            false => backend.for_no_traffic(),
                        },
                    });
                }
                None => turn = Some(entered),
            }
        }
        Err(just_gone())
    }
}

fn ended(mut arrival: Arrival, refusal: Refusal) -> Refusal {
    arrival.refuse(&refusal);
    refusal
}

/// Refuses what a deployment in this state does not take.
fn check_state(call: &Call<'_>) -> Result<(), Refusal> {
    let seconds = std::time::Duration::from_secs;
    if call.config.deleting {
        return Err(refuse(503, "deleting", "it is being torn down").retry_after(seconds(5)));
    }
    if call.config.stopped {
        return Err(refuse(503, "stopped", "a person stopped it").retry_after(seconds(60)));
    }
    match (call.checked.framing, call.config.settings.max_body) {
        (Framing::Length(length), Some(most)) if length > most => {
            Err(refuse(413, "body_too_large", "the body is larger than allowed").closing())
        }
        _ => Ok(()),
    }
}
