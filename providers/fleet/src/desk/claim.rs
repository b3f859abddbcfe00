use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{StreamExt, iter, once};
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use thermocline_wire::fleet::{Claim, Ending, Grant, Refusal, frame};

use super::Rebuff;
use crate::access::{Account, secret};
use crate::body::Body;
use crate::hub::Hub;
use crate::intake::millis;
use crate::lot::Granted;

impl Hub {
    /// Grants a claim: the payload, and then word of when the work is over.
    pub(super) fn claim(
        self: &Arc<Self>,
        account: &Account,
        job: &str,
        claim: Claim,
    ) -> Result<Response<Body>, Rebuff> {
        let now = self.clock.now();
        self.sightings()
            .claimed(&claim.worker, &claim.incarnation, now);
        let seat = self.take_seat(job, &claim, now)?;
        let granted = {
            let sightings = self.sightings();
            let life = |holder: &_| sightings.life(holder, now);
            self.lot()
                .claim(job, &claim, (&account.name, secret()), now, life)
        };
        let granted = granted.inspect_err(|_| self.return_seat(seat))?;
        self.news.notify_one();
        let held = Held {
            hub: self.clone(),
            job: job.to_owned(),
            run: granted.run.clone(),
        };
        let grant = self.grant(&granted)?;
        Ok(open(grant, granted, held))
    }

    fn grant(&self, granted: &Granted) -> Result<Bytes, Rebuff> {
        let parked = &granted.parked;
        // Without a model nobody can run it; the deployment is on its way out.
        let model = self.deployments().model(&parked.deployment);
        let grant = Grant {
            run: granted.run.clone(),
            remaining_ms: millis(self.clock.now().until(parked.deadline)),
            method: parked.method.clone(),
            target: parked.target.clone(),
            headers: parked.headers.clone(),
            payload_bytes: parked.payload.bytes.len() as u64,
            sha256: parked.payload.sha256.clone(),
            generation: model.ok_or(Refusal::Abandoned)?.generation.clone(),
        };
        frame(&grant)
            .map(Bytes::from)
            .map_err(|_| Rebuff::Malformed)
    }
}

/// The response that stays open until the work is over.
fn open(grant: Bytes, granted: Granted, held: Held) -> Response<Body> {
    let payload = granted.parked.payload.bytes.clone();
    let ending = granted.ending;
    let over = once(async move {
        let ending = ending.await.unwrap_or(Ending::Closing);
        let frame = frame(&ending).map(Bytes::from);
        drop(held);
        frame.map_err(io::Error::other)
    });
    let pieces = iter([Ok(grant), Ok(payload)]).chain(over);
    let frames = pieces.map(|piece: io::Result<Bytes>| piece.map(Frame::data));
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    *response.status_mut() = StatusCode::OK;
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A claim's connection; when it ends, that is noted.
struct Held {
    hub: Arc<Hub>,
    job: String,
    run: String,
}

impl Drop for Held {
    fn drop(&mut self) {
        let now = self.hub.clock.now();
        self.hub.lot().part(&self.job, &self.run, now);
        self.hub.news.notify_one();
    }
}
