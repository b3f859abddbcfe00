use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use serde::Deserialize;
use serde_json::Value;

use super::body::document;
use super::params::{self, Asked, Named};
use super::{Control, Problem};
use crate::simulation::SimulationError;

const DAY: Duration = Duration::from_secs(86_400);

/// `?span`.
#[derive(Deserialize)]
pub(super) struct Span {
    #[serde(default, deserialize_with = "params::span")]
    span: Option<Duration>,
}

/// What the last arrivals would have cost with the body merged into the specification.
pub(super) async fn simulate(
    State(control): Control,
    Named(name): Named<String>,
    Asked(Span { span }): Asked<Span>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let patch = document(request, &control.clock).await?;
    let span = span.unwrap_or(DAY);
    Ok(Json(control.simulate(&name, &patch, span).await?))
}

impl From<SimulationError> for Problem {
    fn from(error: SimulationError) -> Self {
        let detail = error.to_string();
        match error {
            SimulationError::Edit(edit) => edit.into(),
            SimulationError::OneTier(_) => Problem::new(409, "one_tier", detail),
            SimulationError::Unpriced(_) => Problem::new(409, "unpriced", detail),
            SimulationError::Store(source) => source.into(),
        }
    }
}
