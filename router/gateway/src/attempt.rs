//! Forwarding: one attempt, and another only where that is safe.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, Response, StatusCode};
use thermocline_policy::{Moment, Tier};
use thermocline_table::{BackendId, BackendPermit, Permit, Stage};

use crate::acquire::{Place, late};
use crate::body::{BodyPatience, ResponseBody, Streaming};
use crate::call::{Call, Stamp};
use crate::gateway::Gateway;
use crate::head::{HeadContext, Patience, request_head};
use crate::inbound::Inbound;
use crate::refusal::{Refusal, refuse};
use crate::settle::{Arrival, Settlement};
use crate::upgrade::Relay;
use crate::upstream::{
    Connection, Exchange, ExchangeError, Framing, ResponseHead, Upload, checkout,
};

/// Others are preferred for this long after a backend could not be reached.
const SUSPICION: Duration = Duration::from_secs(1);

/// How an attempt that did not end with a response ended.
enum Failed {
    /// Nothing of the request is lost: it may be sent again.
    Retry(ExchangeError, Box<Inbound>),
    /// It must not be sent again.
    Final(ExchangeError),
}

/// How forwarding ended.
pub(crate) enum Forwarded {
    /// A backend answered.
    Answered(Response<ResponseBody>),
    /// None will.
    Refused(Refusal, Arrival),
    /// What it was sent to is gone, and did nothing with it.
    Gone(Inbound, Arrival),
}

/// Why no backend of a tier could be reached.
enum Unreached {
    /// The last that was tried is gone.
    Gone,
    Refused(Refusal),
}

impl From<Refusal> for Unreached {
    fn from(refusal: Refusal) -> Self {
        Unreached::Refused(refusal)
    }
}

impl Gateway {
    /// Sends the request until a backend answers it.
    pub(crate) async fn forward(
        self: &Arc<Self>,
        call: &mut Call<'_>,
        place: Place,
        mut body: Inbound,
        arrival: Arrival,
        stamp: &mut Stamp,
    ) -> Forwarded {
        let Place {
            turn,
            backend: mut permit,
        } = place;
        let mut tried = Vec::new();
        let mut fresh_only = false;
        loop {
            let sent = self.clock.now();
            if sent >= call.patience.whole {
                return Forwarded::Refused(late(), arrival);
            }
            stamp.sent = Some(sent);
            permit.sent(sent);
            arrival.ongoing().reach(Stage::Sent);
            match self.attempt(call, &permit, body, fresh_only, sent).await {
                Ok(reply) => {
                    let hold = (arrival, turn, permit);
                    return self.deliver(call, reply, hold, sent, stamp).await;
                }
                Err(Failed::Retry(error, untouched)) => {
                    body = *untouched;
                    if !matches!(error, ExchangeError::Connect(_)) {
                        fresh_only = true;
                        continue;
                    }
                    tried.push(permit.backend().id);
                    let next = self.another(call, &mut body, permit, &tried, error);
                    permit = match next.await {
                        Ok(other) => other,
                        Err(Unreached::Gone) => return Forwarded::Gone(body, arrival),
                        Err(Unreached::Refused(refusal)) => {
                            return Forwarded::Refused(refusal, arrival);
                        }
                    };
                }
                Err(Failed::Final(error)) => return Forwarded::Refused(broken(error), arrival),
            }
        }
    }

    /// What comes of a backend's `reply` to what was sent at `sent`.
    async fn deliver(
        &self,
        call: &mut Call<'_>,
        (mut exchange, mut head): (Box<Exchange>, ResponseHead),
        (arrival, turn, permit): (Arrival, Permit, BackendPermit),
        sent: Moment,
        stamp: &mut Stamp,
    ) -> Forwarded {
        let answered = self.clock.now();
        if self.answers_for_gone(call, &permit, &exchange, &head).await {
            return Forwarded::Gone(exchange.into_kept_body(), arrival);
        }
        exchange.forget_body();
        if self.clock.now() >= call.patience.whole {
            return Forwarded::Refused(late(), arrival);
        }
        stamp.answered = Some(answered);
        let voucher = permit.backend().target.voucher.as_ref();
        let ours = voucher.is_some_and(|voucher| head.take_voucher(voucher));
        let settlement = Settlement::new(arrival, sent, head.status, turn, permit);
        let settlement = settlement.vouched(ours);
        Forwarded::Answered(self.respond(call, (exchange, head, answered), settlement))
    }

    /// Another backend of the tier in place of one that could not be reached.
    async fn another(
        &self,
        call: &Call<'_>,
        body: &mut Inbound,
        permit: BackendPermit,
        tried: &[BackendId],
        error: ExchangeError,
    ) -> Result<BackendPermit, Unreached> {
        let (now, tier) = (self.clock.now(), permit.backend().tier);
        permit.backend().suspect(now + SUSPICION);
        let look = self.miss(permit.backend(), now);
        drop(permit);
        if let Some(other) = self.pick(call, body, tier, tried).await? {
            return Ok(other);
        }
        match self.found_gone_before(call, look, body).await? {
            true => Err(Unreached::Gone),
            false => Err(broken(error).into()),
        }
    }

    /// Whether a 404 is no answer of the backend's, but of a cloud that has it no more.
    async fn answers_for_gone(
        &self,
        call: &Call<'_>,
        permit: &BackendPermit,
        exchange: &Exchange,
        head: &ResponseHead,
    ) -> bool {
        if !matches!(head.status, StatusCode::NOT_FOUND | StatusCode::BAD_GATEWAY) {
            return false;
        }
        let look = self.miss(permit.backend(), self.clock.now());
        // Behind a 502 somebody may have done the work.
        let again = head.status == StatusCode::NOT_FOUND && exchange.keeps_body();
        again && self.found_gone(call, look).await
    }

    /// One attempt on one backend, up to its response's head.
    async fn attempt(
        &self,
        call: &Call<'_>,
        permit: &BackendPermit,
        body: Inbound,
        fresh_only: bool,
        begun: Moment,
    ) -> Result<(Box<Exchange>, ResponseHead), Failed> {
        let backend = permit.backend();
        let pooled = match fresh_only || call.checked.upgrade {
            true => None,
            false => checkout(backend.id, begun),
        };
        let (connection, sent) = match pooled {
            Some(connection) => (connection, begun),
            None => match Box::pin(self.connector.connect(backend, call.patience.whole)).await {
                Ok(connection) => (connection, self.clock.now()),
                Err(error @ ExchangeError::Connect(_)) => {
                    return Err(Failed::Retry(error, Box::new(body)));
                }
                Err(error) => return Err(Failed::Final(error)),
            },
        };
        self.exchange(call, permit, connection, body, sent).await
    }

    async fn exchange(
        &self,
        call: &Call<'_>,
        permit: &BackendPermit,
        connection: Connection,
        body: Inbound,
        sent: Moment,
    ) -> Result<(Box<Exchange>, ResponseHead), Failed> {
        let framing = call.checked.framing;
        let first_byte = sent + call.config.settings.first_byte;
        let by = first_byte.min(call.patience.whole);
        let target = &permit.backend().target;
        let patience = target.remaining.then(|| self.patience(call, sent, by));
        // Who answers within this process can refuse a body before it comes.
        let has_body = framing != Framing::Empty;
        let expects = call.checked.expects && has_body && target.voucher.is_some();
        let context = HeadContext {
            expects,
            ..self.context(call, framing, patience)
        };
        let head = request_head(call.parts, target, &context);
        let reused = connection.reused;
        let paid = matches!(permit.backend().tier, Tier::Serverless | Tier::Pod);
        let body = if paid { body.keeping_given() } else { body };
        let upload = Upload::new(head, body, framing, call.most_body);
        let upload = if expects { upload.withheld() } else { upload };
        // Boxed: it moves on into the response's body.
        let mut exchange = Box::new(Exchange::new(connection, upload));
        let method = &call.parts.method;
        let answered = poll_fn(|cx| match exchange.poll_head(cx, method) {
            Poll::Ready(answered) => Poll::Ready(answered),
            Poll::Pending => {
                let alarm = &mut exchange.connection.alarm;
                let late = alarm.poll(by, &self.clock, cx);
                late.map(|()| Err(ExchangeError::Deadline))
            }
        });
        match answered.await {
            Ok(head) => Ok((exchange, head)),
            Err(error) => Err(judge(error, exchange, reused, call)),
        }
    }

    /// How long the response of what is sent at `sent` is waited for, its head until `by`.
    fn patience(&self, call: &Call<'_>, sent: Moment, by: Moment) -> Patience {
        let wall = self.clock.wall().duration_since(SystemTime::UNIX_EPOCH);
        let wall = wall.unwrap_or_default();
        let remaining = sent.until(call.patience.whole);
        Patience {
            remaining,
            cold: sent.until(call.patience.cold),
            head_by: wall.saturating_add(sent.until(by)),
            whole_by: wall.saturating_add(remaining),
        }
    }

    fn context<'c>(
        &self,
        call: &'c Call<'_>,
        framing: Framing,
        patience: Option<Patience>,
    ) -> HeadContext<'c> {
        HeadContext {
            checked: call.checked,
            client: call.client,
            trusted: self.settings.trusted.trusts(call.client.peer.ip()),
            strip_authorization: self.settings.access.is_some(),
            request_id: call.id.as_bytes(),
            prefix: call.prefix,
            framing,
            expects: false,
            patience,
        }
    }

    /// The response that the client gets.
    fn respond(
        &self,
        call: &mut Call<'_>,
        (exchange, head, answered): (Box<Exchange>, ResponseHead, Moment),
        settlement: Settlement,
    ) -> Response<ResponseBody> {
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(call, exchange, head, settlement);
        }
        let idle = call.config.settings.idle;
        let patience = BodyPatience::new(call.patience.whole, idle, answered);
        let trailers = call.checked.trailers;
        let streaming =
            Streaming::new(exchange, settlement, trailers, patience, self.clock.clone());
        response(
            head.status,
            head.headers,
            ResponseBody::streaming(streaming),
        )
    }

    fn switch(
        &self,
        call: &mut Call<'_>,
        exchange: Box<Exchange>,
        mut head: ResponseHead,
        settlement: Settlement,
    ) -> Response<ResponseBody> {
        let (Some(client), Some(protocol)) = (call.on_upgrade.take(), head.upgrade.take()) else {
            let refusal = broken(ExchangeError::Malformed);
            settlement.refuse(&refusal);
            return refusal.into_response(call.id, false);
        };
        let websocket = protocol.as_bytes().eq_ignore_ascii_case(b"websocket");
        head.headers.insert(UPGRADE, protocol);
        head.headers
            .insert(CONNECTION, http::HeaderValue::from_static("upgrade"));
        let relay = Relay {
            client,
            backend: exchange.connection,
            settlement,
            websocket,
            idle: call.config.settings.idle,
            lifecycle: call.client.lifecycle.clone(),
            clock: self.clock.clone(),
        };
        self.relays.spawn(relay.run());
        response(
            head.status,
            head.headers,
            ResponseBody::fixed(bytes::Bytes::new()),
        )
    }
}

fn response(status: StatusCode, headers: HeaderMap, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Whether the request may be sent again: only if nothing of it was written,
/// or if it is idempotent, nothing was taken off its body, and a connection
/// that had been idle was closed before the first byte of a response.
fn judge(error: ExchangeError, exchange: Box<Exchange>, reused: bool, call: &Call<'_>) -> Failed {
    let closed = matches!(
        error,
        ExchangeError::ClosedEarly | ExchangeError::Read(_) | ExchangeError::Write(_)
    );
    let untouched = !exchange.wrote();
    let replayable = call.parts.method.is_idempotent() && call.checked.framing == Framing::Empty;
    if closed && reused && !exchange.heard() && (untouched || replayable) {
        return match exchange.into_untouched_body() {
            Some(body) => Failed::Retry(error, Box::new(body)),
            None => Failed::Final(error),
        };
    }
    Failed::Final(error)
}

/// What the client reads of a broken attempt; the log has the whole chain.
fn broken(error: ExchangeError) -> Refusal {
    match error {
        ExchangeError::Client(error) => return Refusal::broken_body(error),
        ExchangeError::TooLarge => {
            return refuse(413, "body_too_large", "the body is larger than allowed").closing();
        }
        ExchangeError::Deadline | ExchangeError::Idle => return late(),
        ExchangeError::Cancelled => return Refusal::cancelled(),
        _ => {}
    }
    let source = std::error::Error::source(&error).map(ToString::to_string);
    tracing::warn!(%error, source, "a backend broke");
    refuse(502, "bad_gateway", error.to_string())
}
