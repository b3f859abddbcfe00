use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::shared::Shared;
use super::state::Message;
use crate::{Burial, DeadLetter, Delivery, Lost, Settle};

/// A delivery in somebody's hands. What is settled is unknown to the state by
/// the time this is dropped, so dropping it gives up only what is not.
struct InHand {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.shared.with(|state, now| state.give_up(self.id, now));
    }
}

#[async_trait]
impl Settle for InHand {
    async fn ack(self: Box<Self>) -> Result<(), Lost> {
        self.shared.with(|state, now| state.ack(self.id, now))
    }

    async fn give_back(self: Box<Self>) -> Result<(), Lost> {
        self.shared.with(|state, now| state.give_back(self.id, now))
    }

    async fn retry(self: Box<Self>, body: Bytes, delay: Duration) -> Result<(), Lost> {
        self.shared
            .with(|state, now| state.retry(self.id, body, delay, now))
    }

    async fn bury(self: Box<Self>, body: Bytes, report: Bytes) -> Result<(), Lost> {
        self.shared
            .with(|state, now| state.bury(self.id, body, report, now))
    }

    async fn renew(&self) -> Result<(), Lost> {
        self.shared.with(|state, now| state.renew(self.id, now))
    }
}

pub(super) fn delivery(shared: &Arc<Shared>, (id, message): (u64, Message)) -> Delivery {
    let attempts = message.all_attempts();
    let shared = shared.clone();
    Delivery::new(message.body, attempts, Box::new(InHand { shared, id }))
}

pub(super) fn dead_letter(shared: &Arc<Shared>, (id, message): (u64, Message)) -> DeadLetter {
    let (queue, burial) = message
        .burial
        .clone()
        .unwrap_or_else(|| (Arc::default(), Burial::Undeliverable));
    DeadLetter {
        queue: queue.to_string(),
        burial,
        delivery: delivery(shared, (id, message)),
    }
}
