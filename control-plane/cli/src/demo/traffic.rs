//! Sends the requests of a trace when they are due.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use reqwest::{Client, Response};
use thermocline_clock::Clock;

use super::tally::Tallies;
use super::trace::Trace;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How the request plane says a request was served.
const START: &str = "x-thermocline-start";

/// Plays `trace` against the request plane, for ever; `names` are its roles.
pub(crate) async fn play(
    request: SocketAddr,
    names: Vec<&'static str>,
    trace: Trace,
    tallies: &Tallies,
) -> Infallible {
    let clock = Clock::system();
    let began = clock.now();
    let client = Client::builder().no_proxy().timeout(PATIENCE).build();
    let client = client.unwrap_or_default();
    let mut in_flight = FuturesUnordered::new();
    for arrival in trace {
        let due = clock.sleep_until(began + arrival.at);
        tokio::pin!(due);
        loop {
            tokio::select! {
                () = &mut due => break,
                Some(()) = in_flight.next() => {}
            }
        }
        in_flight.push(ask(&client, request, names[arrival.role], tallies));
    }
    std::future::pending().await
}

async fn ask(client: &Client, request: SocketAddr, name: &'static str, tallies: &Tallies) {
    let url = format!("http://{request}/d/{name}/generate");
    let response = client.post(url).body("a harbour at dawn").send().await;
    let served = match response {
        Ok(response) if response.status().is_success() => whole(response).await,
        Ok(_) | Err(_) => None,
    };
    tallies.count(name, served.as_deref());
}

/// How a response was served, once all of it is there.
async fn whole(response: Response) -> Option<String> {
    let start = response.headers().get(START)?.to_str().ok()?.to_owned();
    response.bytes().await.ok()?;
    Some(start)
}
