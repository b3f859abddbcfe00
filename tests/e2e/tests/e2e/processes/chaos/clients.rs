//! Clients that ask until there is an answer, and know their own from any other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use thermocline_support::client::{ClientError, Ended, RawClient, Response};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::findings::{Findings, Outcome};
use super::stage::MODELS;
use super::{now, pause};

const CLIENTS: usize = 24;

/// Far beyond the deadline of any request.
const PATIENCE: Duration = Duration::from_secs(45);

/// Who asks, and what has been asked and answered.
pub(super) struct Clients {
    pub(super) total: u64,
    next: AtomicU64,
    gateway: watch::Receiver<SocketAddr>,
    ended: watch::Sender<u64>,
    /// When the latest request began that was answered.
    answered: watch::Sender<Option<Instant>>,
}

impl Clients {
    pub(super) fn new(total: u64, gateway: watch::Receiver<SocketAddr>) -> Self {
        Clients {
            total,
            next: AtomicU64::new(0),
            gateway,
            ended: watch::Sender::new(0),
            answered: watch::Sender::new(None),
        }
    }

    /// Every request, by as many clients as ask at a time.
    pub(super) async fn ask_all(self: Arc<Self>) -> Findings {
        let mut clients: JoinSet<Findings> = (0..CLIENTS).map(|_| self.clone().ask_on()).collect();
        let mut all = Findings::default();
        while let Some(findings) = clients.join_next().await {
            all.add(findings.expect("a client ends well"));
        }
        all
    }

    /// Waits until so many requests have ended.
    pub(super) async fn reach(&self, ended: u64) {
        let mut progress = self.ended.subscribe();
        let reached = progress.wait_for(|it| *it >= ended).await;
        reached.expect("it is ours");
    }

    /// Waits until one was answered that began after `moment`.
    pub(super) async fn answered_since(&self, moment: Instant) {
        let mut answered = self.answered.subscribe();
        let since = |began: &Option<Instant>| began.is_some_and(|began| began >= moment);
        // None comes any more once all have ended.
        tokio::select! {
            _ = answered.wait_for(since) => {}
            () = self.reach(self.total) => {}
        }
    }

    async fn ask_on(self: Arc<Self>) -> Findings {
        let mut findings = Findings::default();
        let mut connection = None;
        loop {
            let serial = self.next.fetch_add(1, Ordering::Relaxed);
            if serial >= self.total {
                return findings;
            }
            let outcome = self.ask(serial, &mut connection, &mut findings).await;
            findings.count(serial, outcome);
            self.ended.send_modify(|ended| *ended += 1);
        }
    }

    /// Asks again as long as the connection breaks.
    async fn ask(
        &self,
        serial: u64,
        connection: &mut Option<RawClient>,
        findings: &mut Findings,
    ) -> Outcome {
        loop {
            let began = now();
            match self.ask_once(serial, connection).await {
                Ok(response) if response.ended == Ended::Clean => {
                    let outcome = judge(serial, &response);
                    if outcome == Outcome::Answered {
                        self.answered
                            .send_modify(|latest| *latest = (*latest).max(Some(began)));
                    }
                    return outcome;
                }
                Err(ClientError::TimedOut(_)) => return Outcome::Hung,
                Ok(_) | Err(_) => {
                    *connection = None;
                    findings.broken_off += 1;
                    pause(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn ask_once(
        &self,
        serial: u64,
        connection: &mut Option<RawClient>,
    ) -> Result<Response, ClientError> {
        let gateway = *self.gateway.borrow();
        let client = match connection {
            Some(client) if client.peer() == gateway => client,
            _ => connection.insert(RawClient::connect(gateway).await?.with_patience(PATIENCE)),
        };
        let model = MODELS[serial as usize % MODELS.len()];
        let request = client.request("POST", &format!("/d/{model}/echo"));
        request.body(body(serial)).send().await
    }
}

/// Like no other request's, in its length too.
fn body(serial: u64) -> String {
    format!("{serial}:{}", ".".repeat(serial as usize % 1_009))
}

fn judge(serial: u64, response: &Response) -> Outcome {
    if response.status == 200 {
        return match response.body == body(serial) {
            true => Outcome::Answered,
            false => Outcome::Misdelivered,
        };
    }
    let said: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    match said["code"].as_str().or(said["error"]["code"].as_str()) {
        Some(code) => Outcome::Refused(format!("{} {code}", response.status)),
        None => Outcome::Unclear,
    }
}
