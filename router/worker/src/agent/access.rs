//! Whether gateways know this worker's token, and what it may pull.

use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_wire::fleet::{Access, Refusal, allows};

use super::{Agent, Phase};
use crate::event::Event;
use crate::gateway::CallError;

/// When a gateway is asked again that refused, and that gave no answer or let this worker in.
const REFUSED_AGAIN: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(30);

/// What each gateway said last, and when it is asked again.
#[derive(Default)]
pub(super) struct Accesses(BTreeMap<String, Asked>);

struct Asked {
    said: Said,
    again: Moment,
}

#[derive(PartialEq)]
enum Said {
    /// Nothing that can be read, as yet.
    Nothing,
    /// It does not know the token.
    Refused,
    MayPull(Vec<String>),
}

impl Accesses {
    /// Whether gateways refuse this worker, and none lets it in.
    fn is_barred(&self) -> bool {
        self.may_pull().is_none() && self.0.values().any(|asked| asked.said == Said::Refused)
    }

    /// What it may pull of one gateway or another; `None` while none has said so.
    pub(super) fn may_pull(&self) -> Option<Vec<String>> {
        let said = self.0.values().filter_map(|asked| match &asked.said {
            Said::MayPull(patterns) => Some(patterns),
            Said::Nothing | Said::Refused => None,
        });
        let all: Vec<&Vec<String>> = said.collect();
        (!all.is_empty()).then(|| all.into_iter().flatten().cloned().collect())
    }
}

impl Agent {
    /// Asks the gateways that are heard of, where that is due.
    pub(super) fn ask_for_access(&mut self, now: Moment) {
        let known = self.demands.gateways();
        self.access.0.retain(|reply_to, _| known.contains(reply_to));
        for reply_to in known {
            let asked = self.access.0.entry(reply_to.clone()).or_insert(Asked {
                said: Said::Nothing,
                again: now,
            });
            if asked.again <= now {
                asked.again = now + AGAIN;
                self.ask(reply_to);
            }
        }
    }

    fn ask(&mut self, reply_to: String) {
        let (gateways, events) = (self.bench.gateways.clone(), self.events.clone());
        self.tasks.spawn(async move {
            let answer = gateways.access(&reply_to).await;
            let _agent_ended = events.send(Event::Access { reply_to, answer });
        });
    }

    /// A gateway refused a claim: what its token may do has changed.
    pub(super) fn ask_anew(&mut self) {
        let now = self.clock.now();
        self.access.0.values_mut().for_each(|it| it.again = now);
    }

    pub(super) fn access_told(&mut self, reply_to: String, answer: Result<Access, CallError>) {
        let Some(asked) = self.access.0.get_mut(&reply_to) else {
            return;
        };
        match answer {
            Ok(access) => asked.said = Said::MayPull(access.may_pull),
            Err(CallError::Refused {
                refusal: Refusal::Auth,
                ..
            }) => {
                asked.said = Said::Refused;
                asked.again = self.clock.now() + REFUSED_AGAIN;
            }
            Err(_) => {} // it says nothing about the token
        }
        self.settle_access();
    }

    /// Takes nothing while no gateway knows it, and goes on when one does.
    pub(super) fn settle_access(&mut self) {
        match (self.phase, self.access.is_barred()) {
            (Phase::Taking | Phase::Resting, true) => {
                tracing::error!("no gateway knows this worker's token: it takes no job");
                self.phase = Phase::Barred;
                self.stop_taking();
            }
            (Phase::Barred, false) => {
                tracing::info!("a gateway knows this worker's token: jobs are taken");
                self.phase = Phase::Taking;
                self.next_look = self.clock.now();
            }
            _ => {}
        }
    }

    /// Whether it may pull `queue`, as far as it has been told.
    pub(super) fn may_pull(&self, queue: &str) -> bool {
        let may_pull = self.access.may_pull();
        may_pull.is_none_or(|patterns| allows(&patterns, queue))
    }
}
