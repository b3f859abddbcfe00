use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;

use super::{Api, read};
use crate::faults::Faults;
use crate::refusal::Refusal;
use crate::settings::Settings;

pub(super) async fn set_faults(
    State(api): State<Api>,
    body: Result<Json<Faults>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let mut faults = read(body)?;
    if let Some(id) = faults.vanish.take()
        && !api.cloud.forget(&id)
    {
        return Err(Refusal::not_found());
    }
    api.cloud.set_faults(faults);
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn set_settings(
    State(api): State<Api>,
    body: Result<Json<Settings>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let settings = read(body)?.validated();
    let settings = settings.map_err(|errors| Refusal::invalid(errors.to_string()))?;
    api.cloud.settings.set(settings);
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn stop(State(api): State<Api>) -> StatusCode {
    api.end.cancel();
    StatusCode::ACCEPTED
}
