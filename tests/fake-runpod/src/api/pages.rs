use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Answer;
use crate::faults::ListFault;
use crate::problem::Problem;
use crate::service::Service;

/// The page of `items` that `query` asks for, under `name`.
pub(super) fn page(service: &Service, name: &str, mut items: Vec<Value>, query: &str) -> Answer {
    let fault = service.faults().list;
    match fault {
        Some(ListFault::Error) => return Err(Problem::new(500, "internal server error")),
        Some(ListFault::Empty) => items.clear(),
        Some(ListFault::Truncated) => items.truncate(items.len() / 2),
        Some(ListFault::Circular) | None => {}
    }
    let Some(size) = service.settings.page else {
        return Ok((StatusCode::OK, Some(json!({ name: items }))));
    };
    let cursor = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("cursor="));
    let from: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let circular = fault == Some(ListFault::Circular);
    let more = items.len() > from + size || circular;
    let next = more.then(|| if circular { from } else { from + size }.to_string());
    let shown: Vec<Value> = items.into_iter().skip(from).take(size).collect();
    let pagination = json!({ "hasNextPage": more, "nextCursor": next });
    Ok((
        StatusCode::OK,
        Some(json!({ name: shown, "pagination": pagination })),
    ))
}
