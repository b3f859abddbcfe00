//! The suite against brokers that keep every clause but one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use thermocline_clock::ManualClock;

use super::{Subject, run};
use crate::{
    Announcements, Broker, BrokerError, DeadLetters, Deliveries, Delivery, Depth, Limits, Lost,
    MemoryBroker, Settle, Topic,
};

/// How a broker may go wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flaw {
    Nothing,
    TwoAtOnce,
    CountsWhatIsGivenBack,
    ForgetsAttempts,
    RetriesAtOnce,
    LosesRetries,
    AcknowledgesInVain,
    BuriesTwice,
    LosesWhatIsDropped,
    SettlesTooLate,
    OneTopic,
    OneInstallation,
    NeverRenews,
}

struct Flawed {
    flaw: Flaw,
    broker: Arc<MemoryBroker>,
}

/// A delivery of a flawed broker; dropping the true one inside gives it up.
struct FlawedDelivery {
    flaw: Flaw,
    broker: Arc<MemoryBroker>,
    queue: String,
    inside: Option<Delivery>,
}

impl Flawed {
    fn wrap(&self, queue: &str, inside: Delivery) -> Delivery {
        wrap(self.flaw, &self.broker, queue, inside)
    }
}

fn wrap(flaw: Flaw, broker: &Arc<MemoryBroker>, queue: &str, inside: Delivery) -> Delivery {
    let attempts = match flaw {
        Flaw::ForgetsAttempts => 0,
        _ => inside.attempts(),
    };
    let body = inside.body().clone();
    let settle = FlawedDelivery {
        flaw,
        broker: broker.clone(),
        queue: queue.to_owned(),
        inside: Some(inside),
    };
    Delivery::new(body, attempts, Box::new(settle))
}

impl FlawedDelivery {
    fn take(&mut self) -> Delivery {
        self.inside.take().unwrap()
    }
}

#[async_trait]
impl Settle for FlawedDelivery {
    async fn ack(mut self: Box<Self>) -> Result<(), Lost> {
        let inside = self.take();
        match self.flaw {
            Flaw::AcknowledgesInVain => inside.give_back().await,
            Flaw::SettlesTooLate => inside.ack().await.or(Ok(())),
            _ => inside.ack().await,
        }
    }

    async fn give_back(mut self: Box<Self>) -> Result<(), Lost> {
        let inside = self.take();
        match self.flaw {
            Flaw::CountsWhatIsGivenBack => {
                drop(inside);
                Ok(())
            }
            _ => inside.give_back().await,
        }
    }

    async fn retry(mut self: Box<Self>, body: Bytes, delay: Duration) -> Result<(), Lost> {
        let inside = self.take();
        match self.flaw {
            Flaw::RetriesAtOnce => inside.retry(body, Duration::ZERO).await,
            Flaw::LosesRetries => inside.ack().await,
            _ => inside.retry(body, delay).await,
        }
    }

    async fn bury(mut self: Box<Self>, body: Bytes, report: Bytes) -> Result<(), Lost> {
        if self.flaw == Flaw::BuriesTwice {
            let _ = self.broker.publish(&self.queue, body.clone()).await;
        }
        self.take().bury(body, report).await
    }

    async fn renew(&self) -> Result<(), Lost> {
        match (&self.inside, self.flaw) {
            (_, Flaw::NeverRenews) => Ok(()),
            (Some(inside), _) => inside.renew().await,
            (None, _) => Err(Lost),
        }
    }
}

impl Drop for FlawedDelivery {
    fn drop(&mut self) {
        if self.flaw == Flaw::LosesWhatIsDropped {
            self.inside.take().map(|inside| inside.ack().now_or_never());
        }
    }
}

#[async_trait]
impl Broker for Flawed {
    async fn publish(&self, queue: &str, body: Bytes) -> Result<(), BrokerError> {
        self.broker.publish(queue, body).await
    }

    async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries, BrokerError> {
        let more = u16::from(self.flaw == Flaw::TwoAtOnce);
        let deliveries = self.broker.consume(queue, prefetch + more).await?;
        let (flaw, broker, queue) = (self.flaw, self.broker.clone(), queue.to_owned());
        let wrapped = deliveries.map(move |inside| wrap(flaw, &broker, &queue, inside));
        Ok(wrapped.boxed())
    }

    async fn take(&self, queue: &str) -> Result<Option<Delivery>, BrokerError> {
        let taken = self.broker.take(queue).await?;
        Ok(taken.map(|inside| self.wrap(queue, inside)))
    }

    async fn depth(&self, queue: &str) -> Result<Depth, BrokerError> {
        self.broker.depth(queue).await
    }

    async fn dead_letters(&self) -> Result<DeadLetters, BrokerError> {
        self.broker.dead_letters().await
    }

    async fn announce(&self, topic: Topic, body: Bytes) -> Result<(), BrokerError> {
        if self.flaw == Flaw::OneTopic {
            self.broker.announce(Topic::Report, body.clone()).await?;
        }
        self.broker.announce(topic, body).await
    }

    async fn listen(&self, topic: Topic) -> Result<Announcements, BrokerError> {
        self.broker.listen(topic).await
    }

    fn lease(&self) -> Option<Duration> {
        self.broker.lease()
    }

    fn available(&self) -> Result<(), BrokerError> {
        Ok(())
    }
}

/// A flawed broker on virtual time.
struct Trial {
    clock: ManualClock,
    broker: Flawed,
    stranger: Arc<MemoryBroker>,
}

impl Trial {
    fn of(flaw: Flaw) -> Self {
        let clock = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let memory = || Arc::new(MemoryBroker::new(clock.clock(), &limits()));
        let broker = memory();
        let stranger = match flaw {
            Flaw::OneInstallation => broker.clone(),
            _ => memory(),
        };
        Trial {
            broker: Flawed { flaw, broker },
            stranger,
            clock,
        }
    }
}

fn limits() -> Limits {
    Limits {
        deliveries: 4,
        queue_idle: Duration::from_secs(60),
        settling: Duration::ZERO,
        lease: Duration::from_secs(10),
        announcements: 16,
    }
}

#[async_trait]
impl Subject for Trial {
    fn broker(&self) -> &dyn Broker {
        &self.broker
    }

    fn stranger(&self) -> &dyn Broker {
        &*self.stranger
    }

    fn limits(&self) -> Limits {
        limits()
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    async fn lose_holders(&self) {
        self.pass(limits().lease).await;
    }
}

#[tokio::test]
async fn a_broker_without_a_flaw_keeps_every_clause() {
    let report = run(&Trial::of(Flaw::Nothing)).await;
    assert!(report.passed(), "{report}");
}

#[tokio::test]
async fn each_flaw_is_caught_by_its_clause() {
    let cases = [
        (Flaw::TwoAtOnce, "prefetch"),
        (Flaw::CountsWhatIsGivenBack, "give-back"),
        (Flaw::ForgetsAttempts, "retry-counted"),
        (Flaw::ForgetsAttempts, "dropped"),
        (Flaw::ForgetsAttempts, "holder-lost"),
        (Flaw::RetriesAtOnce, "retry-spaced"),
        (Flaw::LosesRetries, "retry-counted"),
        (Flaw::AcknowledgesInVain, "ack"),
        (Flaw::BuriesTwice, "bury"),
        (Flaw::LosesWhatIsDropped, "dropped"),
        (Flaw::SettlesTooLate, "late-settling"),
        (Flaw::NeverRenews, "renewed"),
        (Flaw::OneTopic, "announcements"),
        (Flaw::OneInstallation, "isolation"),
    ];
    for (flaw, clause) in cases {
        let report = run(&Trial::of(flaw)).await;
        let failed = |verdict: &&super::Verdict| verdict.outcome.is_err();
        let failed: Vec<_> = report.verdicts.iter().filter(failed).collect();
        let caught = failed.iter().any(|verdict| verdict.clause.name == clause);
        assert!(caught, "{flaw:?} is not caught by {clause}: {report}");
    }
}
