//! One request from its head to its response.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use thermocline_clock::Clock;
use thermocline_edge::Lifecycle;
use thermocline_policy::{Moment, Protocol, Tier};
use thermocline_table::{Deployment, Start, Table, Wake};
use tokio::runtime::Handle;
use ulid::Ulid;

use crate::acquire::{MOST_DECISIONS, Place, just_gone, late};
use crate::body::ResponseBody;
use crate::call::{Call, Stamp};
use crate::deadline::patience;
use crate::flights::{FlightLimits, Flights};
use crate::guard::{Checked, check};
use crate::identify::{ByHead, Identified, LONGEST_MODEL_READ, by_head, model_of, unknown};
use crate::inbound::{Inbound, ReadAhead};
use crate::names;
use crate::refusal::{Refusal, refuse};
use crate::settle::Arrival;
use crate::trust::TrustedProxies;
use crate::upstream::{Connector, Framing};

/// Says whether a bearer token may use the request plane.
pub type Access = Arc<dyn Fn(&str) -> bool + Send + Sync>;
/// Says whether new work may be taken.
pub type Ready = Arc<dyn Fn() -> bool + Send + Sync>;

/// What the request plane is told at its start.
#[derive(Clone)]
pub struct Settings {
    /// Peers whose `x-forwarded-*` headers are believed.
    pub trusted: TrustedProxies,
    /// Whether dedicated backends may be on loopback and private addresses.
    pub private_dedicated: bool,
    /// How long a failed start is remembered.
    pub flights: FlightLimits,
    /// Who may send requests; `None` = anyone.
    pub access: Option<Access>,
    /// What `/-/readyz` answers.
    pub ready: Ready,
}

/// The request plane's own state, shared by its threads.
pub struct Gateway {
    pub(crate) table: Arc<Table>,
    pub(crate) wake: Arc<dyn Wake>,
    pub(crate) flights: Flights,
    pub(crate) connector: Connector,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    read_ahead: Arc<ReadAhead>,
}

impl Gateway {
    /// A request plane over `table`; starts run on `runtime`.
    pub fn new(
        table: Arc<Table>,
        wake: Arc<dyn Wake>,
        clock: Clock,
        runtime: Handle,
        settings: Settings,
    ) -> Arc<Self> {
        Arc::new(Gateway {
            table,
            wake,
            flights: Flights::new(settings.flights, clock.clone(), runtime),
            connector: Connector::new(clock.clone(), settings.private_dedicated),
            clock,
            settings,
            read_ahead: Arc::default(),
        })
    }

    /// Answers one request.
    pub(crate) async fn handle(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        peer: SocketAddr,
        lifecycle: Arc<Lifecycle>,
    ) -> Response<ResponseBody> {
        let arrived = self.clock.now();
        let on_upgrade = request
            .headers()
            .contains_key(http::header::UPGRADE)
            .then(|| hyper::upgrade::on(&mut request));
        let (parts, incoming) = request.into_parts();
        let id = request_id(&parts.headers);
        let mut stamp = Stamp::default();
        let served = async {
            let checked = check(&parts, incoming.is_end_stream())?;
            if let Some(answer) = self.own_path(&parts) {
                return Ok(answer);
            }
            self.check_access(&parts.headers)?;
            let mut body = Inbound::new(incoming, &self.read_ahead);
            let found = self.identify(&parts, &checked, &mut body, arrived).await?;
            stamp.deployment = Some(found.deployment.clone());
            let config = found.deployment.config.load_full();
            let mut call = Call {
                patience: patience(&parts.headers, &config.settings, arrived)?,
                parts: &parts,
                checked: &checked,
                id: &id,
                peer,
                deployment: found.deployment,
                config,
                prefix: found.prefix,
                arrived,
                on_upgrade,
            };
            self.serve(&mut call, body, &mut stamp, &lifecycle).await
        };
        let mut response = match served.await {
            Ok(response) => response,
            Err(refusal) => refusal.into_response(&id, speaks_openai(&parts, &stamp)),
        };
        stamp.put(response.headers_mut(), &id, arrived, &self.clock);
        response
    }

    /// Serves a request whose deployment is known.
    async fn serve(
        self: &Arc<Self>,
        call: &mut Call<'_>,
        mut body: Inbound,
        stamp: &mut Stamp,
        lifecycle: &Lifecycle,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let path = &call.parts.uri.path()[call.prefix.unwrap_or(0)..];
        let counted = !call.config.ignore.is_match(path);
        if counted {
            call.deployment.record(call.arrived);
        }
        let tier = call.deployment.current().unwrap_or(Tier::Serverless);
        let mut arrival = Arrival::new(call.deployment.clone(), call.arrived, tier);
        let found = self
            .find(call, &mut body, counted, &mut arrival, stamp)
            .await;
        let place = match found {
            Ok(found) => found,
            Err(refusal) => return Err(ended(arrival, refusal)),
        };
        // Boxed: a request that waits should not carry the room for forwarding.
        let forward = self.forward(call, place, body, arrival, stamp, lifecycle);
        Box::pin(forward)
            .await
            .map_err(|(refusal, arrival)| ended(arrival, refusal))
    }

    /// Finds a tier that serves and a place in it. A tier that goes away while
    /// the request waits for a place is decided about anew.
    async fn find(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: &mut Inbound,
        counted: bool,
        arrival: &mut Arrival,
        stamp: &mut Stamp,
    ) -> Result<Place, Refusal> {
        check_state(call)?;
        let mut turn = None;
        for _ in 0..MOST_DECISIONS {
            let served = self.find_tier(call, body, counted, stamp).await?;
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
                        tier: served.tier,
                        turn: entered,
                        backend: match counted {
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

    async fn identify(
        &self,
        parts: &Parts,
        checked: &Checked,
        body: &mut Inbound,
        arrived: Moment,
    ) -> Result<Identified, Refusal> {
        // The guard is dropped before anything is awaited.
        let found = by_head(&self.table.load(), parts, &checked.host);
        match found {
            ByHead::Found(found) => Ok(found),
            ByHead::Unknown => Err(unknown()),
            ByHead::AskBody => {
                let by = arrived + LONGEST_MODEL_READ;
                let model = self.clock.timeout_at(by, Box::pin(model_of(body))).await;
                let model = model.map_err(|_| late())??;
                let deployment = self.table.load().by_name(&model).cloned();
                let deployment = deployment.ok_or_else(unknown)?;
                Ok(Identified {
                    deployment,
                    prefix: None,
                })
            }
        }
    }

    fn check_access(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(access) = &self.settings.access else {
            return Ok(());
        };
        let token = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(bearer);
        match token.is_some_and(|token| access(token)) {
            true => Ok(()),
            false => Err(refuse(401, "unauthorized", "a bearer token is needed")),
        }
    }

    fn own_path(&self, parts: &Parts) -> Option<Response<ResponseBody>> {
        let (status, text) = match parts.uri.path() {
            "/-/healthz" => (StatusCode::OK, "ok\n"),
            "/-/readyz" if (self.settings.ready)() => (StatusCode::OK, "ok\n"),
            "/-/readyz" => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
            _ => return None,
        };
        let mut response = Response::new(ResponseBody::fixed(Bytes::from_static(text.as_bytes())));
        *response.status_mut() = status;
        Some(response)
    }
}

fn ended(mut arrival: Arrival, refusal: Refusal) -> Refusal {
    arrival.end(refusal.outcome);
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

/// The client's own id where it is plain, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let plain =
        |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    headers
        .get(&names::REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(plain)
        .map_or_else(|| Ulid::generate().to_string(), str::to_owned)
}

/// Whether our own errors take the OpenAI shape.
fn speaks_openai(parts: &Parts, stamp: &Stamp) -> bool {
    let path = parts.uri.path();
    let below = path
        .strip_prefix("/d/")
        .and_then(|rest| rest.split_once('/'));
    let by_protocol =
        |deployment: &Arc<Deployment>| deployment.config.load().spec.protocol == Protocol::Openai;
    path.starts_with("/v1/")
        || below.is_some_and(|(_, rest)| rest.starts_with("v1/"))
        || stamp.deployment.as_ref().is_some_and(by_protocol)
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}
