//! One request from its head to its response.

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use thermocline_clock::Clock;
use thermocline_policy::{Moment, Protocol};
use thermocline_table::{Deployment, Table, Wake};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::acquire::late;
use crate::body::ResponseBody;
use crate::call::{Call, Client, Stamp, request_id};
use crate::deadline::Patience;
use crate::flights::{FlightLimits, Flights};
use crate::guard::{Checked, check};
use crate::identify::{
    ByHead, Identified, LARGEST_MODEL_BODY, LONGEST_MODEL_READ, by_head, model_of, unknown,
};
use crate::inbound::Inbound;
use crate::missed::Looks;
use crate::names;
use crate::refusal::{Refusal, refuse};
use crate::trust::TrustedProxies;
use crate::upstream::Connector;

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

/// A request whose deployment is known, before the deployment's settings are.
struct Recognised<'r> {
    parts: &'r Parts,
    checked: &'r Checked,
    found: &'r Identified,
    id: &'r HeaderValue,
    client: &'r Client,
    arrived: Moment,
}

/// A request that no deployment sees.
enum Unserved {
    OwnPath(Response<ResponseBody>),
    Refused(Refusal),
}

impl From<Refusal> for Unserved {
    fn from(refusal: Refusal) -> Self {
        Unserved::Refused(refusal)
    }
}

/// The request plane's own state, shared by its threads.
pub struct Gateway {
    pub(crate) table: Arc<Table>,
    pub(crate) wake: Arc<dyn Wake>,
    pub(crate) flights: Flights,
    pub(crate) looks: Looks,
    pub(crate) connector: Connector,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    /// Connections that switched to another protocol.
    pub(crate) relays: TaskTracker,
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
            flights: Flights::new(settings.flights, clock.clone(), runtime.clone()),
            looks: Looks::new(runtime),
            connector: Connector::new(clock.clone(), settings.private_dedicated),
            clock,
            settings,
            relays: TaskTracker::new(),
        })
    }

    /// Answers one request.
    pub(crate) async fn handle(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        client: Arc<Client>,
    ) -> Response<ResponseBody> {
        let arrived = self.clock.now();
        let on_upgrade = request
            .headers()
            .contains_key(http::header::UPGRADE)
            .then(|| hyper::upgrade::on(&mut request));
        let (parts, incoming) = request.into_parts();
        let id = request_id(&parts.headers);
        let mut body = Inbound::new(incoming);
        let mut response = match self.recognise(&parts, &mut body, arrived).await {
            Ok((checked, found)) => {
                let request = Recognised {
                    parts: &parts,
                    checked: &checked,
                    found: &found,
                    id: &id,
                    client: &client,
                    arrived,
                };
                self.answer(request, body, on_upgrade).await
            }
            Err(Unserved::OwnPath(answer)) => answer,
            Err(Unserved::Refused(refusal)) => {
                refusal.into_response(&id, speaks_openai(&parts, None))
            }
        };
        response.headers_mut().insert(&names::REQUEST_ID, id);
        response
    }

    /// Which deployment a request is for, if any.
    async fn recognise(
        &self,
        parts: &Parts,
        body: &mut Inbound,
        arrived: Moment,
    ) -> Result<(Checked, Identified), Unserved> {
        let checked = check(parts, body.ended())?;
        if let Some(answer) = self.own_path(parts) {
            return Err(Unserved::OwnPath(answer));
        }
        self.check_access(&parts.headers)?;
        let found = self.identify(parts, &checked, body, arrived).await?;
        Ok((checked, found))
    }

    /// Serves a request, and says on the response how.
    async fn answer(
        self: &Arc<Self>,
        request: Recognised<'_>,
        body: Inbound,
        on_upgrade: Option<OnUpgrade>,
    ) -> Response<ResponseBody> {
        let deployment = &request.found.deployment;
        let mut stamp = Stamp::default();
        let mut call = self.call(&request, on_upgrade);
        let served = self.serve(&mut call, body, &mut stamp).await;
        let mut response = served.unwrap_or_else(|refusal| {
            stamp.complete(deployment, self.clock.now());
            refusal.into_response(request.id, speaks_openai(request.parts, Some(deployment)))
        });
        stamp.put(
            response.headers_mut(),
            deployment,
            request.arrived,
            &self.clock,
        );
        response
    }

    fn call<'r>(&self, request: &Recognised<'r>, on_upgrade: Option<OnUpgrade>) -> Call<'r> {
        let config = request.found.deployment.config.load_full();
        let settings = &config.settings;
        Call {
            most_body: smaller(settings.max_body, request.found.most_body),
            patience: Patience::of(settings, request.arrived),
            parts: request.parts,
            checked: request.checked,
            id: request.id,
            client: request.client,
            deployment: &request.found.deployment,
            config,
            prefix: request.found.prefix,
            arrived: request.arrived,
            counted: false,
            on_upgrade,
        }
    }

    async fn identify(
        &self,
        parts: &Parts,
        checked: &Checked,
        body: &mut Inbound,
        arrived: Moment,
    ) -> Result<Identified, Refusal> {
        // The guard is dropped before anything is awaited.
        let found = by_head(&self.table.load(), parts, checked);
        match found {
            ByHead::Found(found) => Ok(found),
            ByHead::Unknown => Err(unknown()),
            ByHead::AskBody => {
                let by = arrived + LONGEST_MODEL_READ;
                let model = self
                    .clock
                    .timeout_at(by, Box::pin(model_of(body, checked.framing)))
                    .await;
                let model = model.map_err(|_| late())??;
                let deployment = self.table.load().by_name(&model).cloned();
                let deployment = deployment.ok_or_else(unknown)?;
                Ok(Identified {
                    deployment,
                    prefix: None,
                    most_body: Some(LARGEST_MODEL_BODY as u64),
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

/// The smaller of two limits; `None` = none.
fn smaller(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Whether our own errors take the OpenAI shape.
fn speaks_openai(parts: &Parts, deployment: Option<&Arc<Deployment>>) -> bool {
    let path = parts.uri.path();
    let below = path
        .strip_prefix("/d/")
        .and_then(|rest| rest.split_once('/'));
    let by_protocol =
        |deployment: &Arc<Deployment>| deployment.config.load().spec.protocol == Protocol::Openai;
    path.starts_with("/v1/")
        || below.is_some_and(|(_, rest)| rest.starts_with("v1/"))
        || deployment.is_some_and(by_protocol)
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}
