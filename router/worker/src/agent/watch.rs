//! Whether the runtime lives, and still holds what it should.

use std::time::Duration;

use thermocline_broker::{BrokerError, Topic};
use thermocline_clock::Clock;
use tokio::sync::oneshot;

use super::{Agent, Phase};
use crate::Runtime;
use crate::event::{Event, Events, Seen};
use crate::trouble::Trouble;

const EVERY: Duration = Duration::from_secs(2);
/// Looks in a row that show no life before the runtime counts as down.
const MISSES: u32 = 2;
/// Between two looks at a runtime that shows none.
const SOON: Duration = Duration::from_millis(500);
/// Every so many looks, what nobody here holds is cleared.
const CLEAR_EVERY: u32 = 15;
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

impl Agent {
    /// Looks at the runtime again and again; at first it is cleared of what is not adopted.
    pub(super) fn watch_runtime(&mut self) {
        let (runtime, clock, events) = (
            self.runtime.clone(),
            self.clock.clone(),
            self.events.clone(),
        );
        self.tasks.spawn(async move {
            take_over(&*runtime, &clock, &events).await;
            let mut looks = 0;
            loop {
                let alive = lives(&*runtime, &clock).await;
                let dead = Vec::new();
                let _agent_ended = events.send(Event::Runtime(Seen { alive, dead }));
                looks += 1;
                if alive && looks % CLEAR_EVERY == 0 {
                    let _next_time = runtime.clear().await;
                }
                clock.sleep(if alive { EVERY } else { SOON }).await;
            }
        });
    }

    /// Looks at once: a run ended as if its process had died.
    pub(super) fn inspect(&mut self) {
        let held: Vec<String> = self.residents.ready().map(str::to_owned).collect();
        let (runtime, clock, events) = (
            self.runtime.clone(),
            self.clock.clone(),
            self.events.clone(),
        );
        self.tasks.spawn(async move {
            let alive = lives(&*runtime, &clock).await;
            // A runtime that gives no answer says nothing about its models.
            let dead = match alive {
                true => gone(&*runtime, held).await,
                false => Vec::new(),
            };
            let _agent_ended = events.send(Event::Runtime(Seen { alive, dead }));
        });
    }

    /// What a look at the runtime showed.
    pub(super) fn runtime_seen(&mut self, seen: Seen) {
        seen.dead
            .iter()
            .for_each(|deployment| self.died(deployment));
        match (self.phase, seen.alive) {
            (Phase::Taking | Phase::Resting | Phase::Barred, false) => {
                tracing::warn!("the runtime is down: no job is taken before it is back");
                self.phase = Phase::Down;
                self.stop_taking();
            }
            (Phase::Down, true) => {
                tracing::info!("the runtime is up");
                self.phase = Phase::Taking;
                self.next_look = self.clock.now();
                self.settle_access();
                self.inspect();
            }
            _ => {}
        }
    }

    /// Listens to gateways and workers, again whenever that ends.
    pub(super) fn listen(&mut self) {
        for topic in [Topic::Demand, Topic::Report] {
            let (broker, clock, events) =
                (self.broker.clone(), self.clock.clone(), self.events.clone());
            self.tasks.spawn(async move {
                let trouble = Trouble::default();
                loop {
                    let heard = listen(&*broker, topic, &events, &trouble).await;
                    if let Err(error) = heard
                        && trouble.begins()
                    {
                        tracing::warn!(?topic, %error, "the broker cannot be listened to");
                    }
                    clock.sleep(LISTEN_AGAIN).await;
                }
            });
        }
    }
}

/// Lets the agent adopt what an earlier life left; clears the rest.
async fn take_over(runtime: &dyn Runtime, clock: &Clock, events: &Events) {
    const WHAT: &str = "what an earlier life left cannot be";
    let trouble = Trouble::default();
    let any = loop {
        match runtime.find_left().await {
            Ok(any) => break any,
            Err(error) if trouble.begins() => tracing::warn!(%error, "{WHAT} found"),
            Err(_) => {}
        }
        clock.sleep(EVERY).await;
    };
    trouble.ends();
    if any {
        let (decided, decision) = oneshot::channel();
        let _agent_ended = events.send(Event::Left(decided));
        let _agent_ended = decision.await;
    }
    while let Err(error) = runtime.clear().await {
        if trouble.begins() {
            tracing::warn!(%error, "{WHAT} cleared");
        }
        clock.sleep(EVERY).await;
    }
}

/// Whether the runtime lives: one bad answer does not say that it does not.
async fn lives(runtime: &dyn Runtime, clock: &Clock) -> bool {
    for _ in 1..MISSES {
        if runtime.alive().await {
            return true;
        }
        clock.sleep(SOON).await;
    }
    runtime.alive().await
}

/// Those of `held` that the runtime does not hold any more.
async fn gone(runtime: &dyn Runtime, held: Vec<String>) -> Vec<String> {
    let mut gone = Vec::new();
    for deployment in held {
        if !runtime.holds(&deployment).await {
            gone.push(deployment);
        }
    }
    gone
}

async fn listen(
    broker: &dyn thermocline_broker::Broker,
    topic: Topic,
    events: &Events,
    trouble: &Trouble,
) -> Result<(), BrokerError> {
    use futures_util::StreamExt;
    let mut said = broker.listen(topic).await?;
    if trouble.ends() {
        tracing::info!(?topic, "the broker is listened to again");
    }
    while let Some(body) = said.next().await {
        let event = match topic {
            Topic::Demand => Event::Demand(body),
            Topic::Report => Event::Report(body),
        };
        let _agent_ended = events.send(event);
    }
    Ok(())
}
