//! The gateway's requests: parked, put into their queue, answered.

use std::sync::Arc;
use std::time::Duration;

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
use crate::body::{Body, empty};
use crate::excuse::Excuse;
use crate::headers;
use crate::hub::Hub;
use crate::parked::{Answer, Parked, Payload, Reply};
use crate::payload;
use crate::room::Place;

/// The header that holds the gateway's token.
pub(crate) const TOKEN: &str = "x-thermocline-fleet-token";

/// How long a request waits for a deployment that is not known yet, as after a start.
const UNKNOWN_WAIT: Duration = Duration::from_secs(15);

impl Hub {
    /// Answers a request of the gateway, or a probe of the control plane.
    pub(crate) async fn serve_gateway(
        self: &Arc<Self>,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let given = text(&head.headers, TOKEN).as_bytes();
        if !bool::from(given.ct_eq(self.gateway_token.as_bytes())) {
            return empty(StatusCode::UNAUTHORIZED);
        }
        let answered = match text(&head.headers, REMAINING_HEADER).parse() {
            Ok(remaining) => self.exchange(&head, body, remaining).await,
            Err(_) => self.probed(text(&head.headers, DEPLOYMENT)),
        };
        let id = text(&head.headers, "x-request-id");
        answered.unwrap_or_else(|excuse| excuse.response(head.uri.path(), id, &self.voucher))
    }

    /// A request that says nothing of its deadline is the control plane's: the
    /// queue is there as soon as its deployment is known.
    fn probed(&self, deployment: &str) -> Result<Response<Body>, Excuse> {
        let model = self.deployments().model(deployment);
        let model = model.ok_or(Excuse::Unknown)?;
        let status = model.ready_status.first().copied().unwrap_or(200);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        Ok(empty(status))
    }

    /// Takes a request in that has `remaining` milliseconds, and answers it.
    async fn exchange(
        self: &Arc<Self>,
        head: &Parts,
        body: Incoming,
        remaining: u64,
    ) -> Result<Response<Body>, Excuse> {
        let now = self.clock.now();
        let deadline = now + Duration::from_millis(remaining);
        let mut stay = Stay::new(self.clone(), deadline, self.admit_one(head)?);
        stay.patience = Patience::read(&head.headers);
        let taken_in = self.take_in(head, body, (now, deadline));
        let answer = async {
            let timed = self.clock.timeout_at(deadline, taken_in).await;
            let parked = timed.map_err(|_| Excuse::Deadline)??;
            stay.id = Some(parked.id.clone());
            let cold = text(&head.headers, COLD_HEADER).parse().ok();
            let cold = cold.map_or(Moment::NEVER, |left| now + Duration::from_millis(left));
            self.await_answer(parked, cold).await
        };
        match answer.await {
            Ok(answer) => answer::response(answer, head.method.as_str(), stay),
            Err(excuse) => {
                // Whether a gateway that let go was left, or late, its patience tells.
                stay.end = (excuse != Excuse::BodyLeft).then(|| excuse.into());
                Err(excuse)
            }
        }
    }

    /// A place for a request that the fleet can answer.
    fn admit_one(&self, head: &Parts) -> Result<Place, Excuse> {
        let place = match head.headers.contains_key(UPGRADE) {
            true => Err(Excuse::Upgrade),
            false => self.lounge.enter().map_err(|_| Excuse::Full),
        };
        place.inspect_err(|excuse| self.lot().tally.count(excuse.result()))
    }

    /// Reads the request of a deployment that is known.
    async fn take_in(
        self: &Arc<Self>,
        head: &Parts,
        body: Incoming,
        times: (Moment, Moment),
    ) -> Result<Parked, Excuse> {
        let deployment: Arc<str> = text(&head.headers, DEPLOYMENT).into();
        self.known(&deployment, times.0).await?;
        if self.is_beyond(&deployment, self.clock.now()) {
            return Err(Excuse::NoWorker);
        }
        let most = self.settings.max_payload;
        let payload = payload::read(&head.headers, body, &self.lounge, most).await?;
        Ok(parked(head, deployment, payload, times))
    }

    /// Waits until `deployment` is known.
    async fn known(&self, deployment: &str, now: Moment) -> Result<(), Excuse> {
        let mut changes = self.deployed.subscribe();
        let by = now + UNKNOWN_WAIT;
        while self.deployments().model(deployment).is_none() {
            let changed = self.clock.timeout_at(by, changes.changed()).await;
            if !changed.is_ok_and(|changed| changed.is_ok()) {
                return Err(Excuse::Unknown);
            }
        }
        Ok(())
    }

    /// Puts the job into its queue, and waits for what comes of it.
    async fn await_answer(&self, parked: Parked, cold: Moment) -> Result<Answer, Excuse> {
        let (deadline, deployment) = (parked.deadline, parked.deployment.clone());
        let reply = tokio::select! {
            biased;
            reply = self.clock.timeout_at(deadline, self.reply(parked)) => reply,
            () = self.start_too_late(deployment, cold) => return Err(Excuse::ColdStart),
        };
        match reply.map_err(|_| Excuse::Deadline)? {
            Reply::Answer(answer) => Ok(answer),
            Reply::Excused(excuse) => Err(excuse),
        }
    }

    /// Ends at `cold`, unless a worker has the model loaded by then.
    async fn start_too_late(&self, deployment: Arc<str>, cold: Moment) {
        self.clock.sleep_until(cold).await;
        if self.sightings().is_loaded(&deployment, self.clock.now()) {
            std::future::pending().await
        }
    }

    /// What becomes of `parked`.
    pub(crate) async fn reply(&self, parked: Parked) -> Reply {
        let (tell, mut told) = oneshot::channel();
        let parked = Arc::new(parked);
        let job = serde_json::to_vec(&self.job(&parked)).unwrap_or_default();
        {
            let mut lot = self.lot();
            lot.park(parked.clone(), tell);
            lot.tally.published += 1;
        }
        self.news.notify_one();
        let gone = Reply::Excused(Excuse::Withdrawn);
        let published = tokio::select! {
            biased;
            reply = &mut told => return reply.unwrap_or(gone),
            published = self.broker.publish(&parked.deployment, job.into()) => published,
        };
        if let Err(error) = published
            && self.lot().is_waiting(&parked.id)
        {
            // That the broker is away is told once, and not for each request.
            if self.broker.available().is_ok() {
                tracing::warn!(%error, deployment = &*parked.deployment, "a job could not be published");
            }
            return Reply::Excused(Excuse::NoQueue);
        }
        told.await.unwrap_or(gone)
    }

    /// The job that stands for `parked`.
    pub(crate) fn job(&self, parked: &Parked) -> Job {
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
