use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use thermocline_clock::Clock;
use thermocline_edge::{Accept, Lifecycle, Timeouts, listen, serve_connection};
use thermocline_wire::fleet::WorkerState;
use tokio::sync::watch;

use crate::failure::Failure;

/// Connections at a time: probes alone come here.
const MOST_CONNECTIONS: usize = 64;

/// Answers `/healthz` while this process runs, however long its loads take, and
/// `/readyz` as long as it takes jobs; where it does so.
///
/// # Errors
/// When one cannot listen at `address`.
pub(super) fn serve(
    address: SocketAddr,
    state: watch::Receiver<WorkerState>,
    clock: &Clock,
) -> Result<SocketAddr, Failure> {
    let cannot = |error: std::io::Error| Failure::fault(format!("--health {address}: {error}"));
    let listener = listen(address).map_err(cannot)?;
    let there = listener.local_addr().map_err(cannot)?;
    let accept = Accept::new(listener, MOST_CONNECTIONS, clock.clone()).map_err(cannot)?;
    let clock = clock.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _, place) = accept.next().await;
            let (state, clock) = (state.clone(), clock.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer(request.uri().path(), *state.borrow());
                async move { Ok::<_, Infallible>(answer) }
            });
            tokio::spawn(async move {
                let (timeouts, lifecycle) = (Timeouts::default(), Lifecycle::default());
                serve_connection(stream, service, timeouts, lifecycle, clock).await;
                drop(place);
            });
        }
    });
    Ok(there)
}

fn answer(path: &str, state: WorkerState) -> Response<Full<Bytes>> {
    let takes = matches!(state, WorkerState::Ready | WorkerState::Loading);
    let (status, text) = match (path, takes) {
        ("/healthz", _) | ("/readyz", true) => (StatusCode::OK, "ok\n"),
        ("/readyz", false) => (StatusCode::SERVICE_UNAVAILABLE, why(state)),
        _ => (StatusCode::NOT_FOUND, "no such path\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

const fn why(state: WorkerState) -> &'static str {
    match state {
        WorkerState::Barred => "no gateway knows its token\n",
        WorkerState::Down => "its runtime is down\n",
        _ => "it takes no jobs now\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_no_reason_to_be_taken_for_dead_or_busy() {
        let status = |path, state| answer(path, state).status().as_u16();
        for state in [WorkerState::Ready, WorkerState::Loading] {
            assert_eq!(status("/readyz", state), 200);
        }
        for state in [
            WorkerState::Down,
            WorkerState::Draining,
            WorkerState::Barred,
        ] {
            assert_eq!(
                (status("/healthz", state), status("/readyz", state)),
                (200, 503)
            );
        }
    }
}
