//! The gateway's requests: parked, put into their queue, answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::UPGRADE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use hyper::body::Incoming;
use hyper::{Request, Response};
use subtle::ConstantTimeEq;
use thermocline_policy::{COLD_HEADER, Moment, REMAINING_HEADER};
use thermocline_wire::fleet::{DEPLOYMENT_HEADER as DEPLOYMENT, Job};
use tokio::sync::oneshot;
use ulid::Ulid;

use crate::access::secret;
use crate::answer::{self, Patience, Stay};
use crate::body::{Body, Excuse, empty};
use crate::headers;
use crate::hub::Hub;
use crate::parked::{Parked, Payload, Reply};
use crate::payload;
use crate::tally::Ended;

/// The header that holds the gateway's token.
pub(crate) const TOKEN: &str = "x-thermocline-fleet-token";

/// How long a request waits for a deployment that is not known yet, as after a start.
const UNKNOWN_WAIT: Duration = Duration::from_secs(15);

const fn excuse(status: StatusCode, code: &'static str, detail: &'static str) -> Excuse {
    Excuse {
        status,
        code,
        detail,
    }
}

const NOT_OURS: Excuse = excuse(
    StatusCode::UNAUTHORIZED,
    "auth",
    "the token is missing or wrong",
);
const NO_UPGRADES: Excuse = excuse(
    StatusCode::NOT_IMPLEMENTED,
    "upgrade_unsupported",
    "the shared fleet answers requests, not connections: no WebSocket or other upgrade",
);
const UNKNOWN: Excuse = excuse(
    StatusCode::SERVICE_UNAVAILABLE,
    "unavailable",
    "the fleet does not serve this deployment now",
);
const NO_QUEUE: Excuse = excuse(
    StatusCode::SERVICE_UNAVAILABLE,
    "no_capacity",
    "the fleet's queue cannot be reached",
);

impl Hub {
    /// Answers a request of the gateway, or a probe of the control plane.
    pub(crate) async fn serve_gateway(
        self: &Arc<Self>,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        match self.exchange(&head, body).await {
            Ok(response) => response,
            Err(excuse) => excuse.response(head.uri.path(), text(&head.headers, "x-request-id")),
        }
    }

    async fn exchange(
        self: &Arc<Self>,
        head: &Parts,
        body: Incoming,
    ) -> Result<Response<Body>, Excuse> {
        let given = text(&head.headers, TOKEN).as_bytes();
        if !bool::from(given.ct_eq(self.gateway_token.as_bytes())) {
            return Err(NOT_OURS);
        }
        let deployment = text(&head.headers, DEPLOYMENT);
        let Ok(remaining) = text(&head.headers, REMAINING_HEADER).parse() else {
            return self.probed(deployment);
        };
        if head.headers.contains_key(UPGRADE) {
            return Err(NO_UPGRADES);
        }
        let now = self.clock.now();
        let deadline = now + Duration::from_millis(remaining);
        let timed = self
            .clock
            .timeout_at(deadline, self.take_in(head, body, (now, deadline)));
        let (parked, stay) = timed.await.map_err(|_| answer::EXPIRED)??;
        let cold = text(&head.headers, COLD_HEADER).parse().ok();
        let cold = cold.map_or(Moment::NEVER, |left| now + Duration::from_millis(left));
        self.await_answer(parked, stay, cold).await
    }

    /// A request that says nothing of its deadline is the control plane's: the
    /// queue is there as soon as its deployment is known.
    fn probed(&self, deployment: &str) -> Result<Response<Body>, Excuse> {
        let model = self.deployments().model(deployment).ok_or(UNKNOWN)?;
        let status = model.ready_status.first().copied().unwrap_or(200);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        Ok(empty(status))
    }

    /// Reads the request, for which a place is kept from now on.
    async fn take_in(
        self: &Arc<Self>,
        head: &Parts,
        body: Incoming,
        (arrived, deadline): (Moment, Moment),
    ) -> Result<(Parked, Stay), Excuse> {
        let deployment: Arc<str> = text(&head.headers, DEPLOYMENT).into();
        let refused = |excuse: Excuse| {
            if excuse.status == StatusCode::TOO_MANY_REQUESTS {
                self.lot().tally.refused += 1;
            }
            excuse
        };
        let place = self.lounge.enter().map_err(|_| refused(payload::FULL))?;
        self.known(&deployment, arrived).await?;
        let most = self.settings.max_payload;
        let payload = payload::read(&head.headers, body, &self.lounge, most);
        let payload = payload.await.map_err(refused)?;
        let parked = parked(head, deployment, payload, (arrived, deadline));
        let mut stay = Stay::new(self.clone(), &parked, place);
        stay.patience = Patience::read(&head.headers);
        Ok((parked, stay))
    }

    /// Waits until `deployment` is known.
    async fn known(&self, deployment: &str, now: Moment) -> Result<(), Excuse> {
        let mut changes = self.deployed.subscribe();
        let by = now + UNKNOWN_WAIT;
        while self.deployments().model(deployment).is_none() {
            let changed = self.clock.timeout_at(by, changes.changed()).await;
            if !changed.is_ok_and(|changed| changed.is_ok()) {
                return Err(UNKNOWN);
            }
        }
        Ok(())
    }

    /// Puts the job into its queue, and waits for what comes of it.
    async fn await_answer(
        self: &Arc<Self>,
        parked: Parked,
        mut stay: Stay,
        cold: Moment,
    ) -> Result<Response<Body>, Excuse> {
        let (method, deadline) = (parked.method.clone(), parked.deadline);
        let start = self.start_too_late(parked.deployment.clone(), cold);
        let reply = tokio::select! {
            biased;
            reply = self.clock.timeout_at(deadline, self.reply(parked)) => reply,
            () = start => {
                stay.ended = Some(Ended::Expired);
                return Err(answer::COLD);
            }
        };
        let ended = match &reply {
            Err(_) => Some(Ended::Expired),
            Ok(None) => Some(Ended::Withdrawn),
            Ok(Some(_)) => None,
        };
        stay.ended = ended;
        match reply.map_err(|_| answer::EXPIRED)?.ok_or(NO_QUEUE)? {
            Reply::Answer(answer) => answer::response(answer, &method, stay),
            other => Err(answer::excuse(&other)),
        }
    }

    /// Ends at `cold`, unless a worker has the model loaded by then.
    async fn start_too_late(&self, deployment: Arc<str>, cold: Moment) {
        self.clock.sleep_until(cold).await;
        if self.sightings().is_loaded(&deployment, self.clock.now()) {
            std::future::pending().await
        }
    }

    /// What becomes of `parked`; `None` when it could not be put into the queue.
    pub(crate) async fn reply(&self, parked: Parked) -> Option<Reply> {
        let (tell, mut told) = oneshot::channel();
        let parked = Arc::new(parked);
        let job = Bytes::from(serde_json::to_vec(&self.job(&parked)).ok()?);
        {
            let mut lot = self.lot();
            lot.park(parked.clone(), tell);
            lot.tally.published += 1;
        }
        self.news.notify_one();
        let published = tokio::select! {
            biased;
            reply = &mut told => return reply.ok(),
            published = self.broker.publish(&parked.deployment, job) => published,
        };
        if let Err(error) = published
            && self.lot().is_waiting(&parked.id)
        {
            tracing::warn!(%error, deployment = &*parked.deployment, "a job could not be published");
            return None;
        }
        told.await.ok()
    }

    fn job(&self, parked: &Parked) -> Job {
        let remaining = self.clock.now().until(parked.deadline);
        Job {
            id: parked.id.clone(),
            deployment: parked.deployment.to_string(),
            remaining_ms: millis(remaining),
            reply_to: self.reply_to.get().cloned().unwrap_or_default(),
            ticket: parked.ticket.clone(),
            payload_bytes: parked.payload.bytes.len() as u64,
            traceparent: parked.traceparent.clone(),
            failures: Vec::new(),
        }
    }
}

fn parked(
    head: &Parts,
    deployment: Arc<str>,
    payload: Payload,
    (arrived, deadline): (Moment, Moment),
) -> Parked {
    let target = head.uri.path_and_query().map_or("/", |it| it.as_str());
    let traceparent = text(&head.headers, "traceparent");
    Parked {
        id: Ulid::generate().to_string(),
        deployment,
        ticket: secret(),
        method: head.method.to_string(),
        target: target.to_owned(),
        headers: headers::of_request(&head.headers),
        payload,
        traceparent: Some(traceparent.to_owned()).filter(|it| !it.is_empty()),
        arrived,
        deadline,
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
