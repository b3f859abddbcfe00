use std::time::Duration;

use bytes::Bytes;
use thermocline_clock::Clock;
use thermocline_policy::Moment;

use super::body_writer::{BodyWriter, Stopped};
use super::gate::{Gate, Order};
use super::head_writer;
use super::log::Visit;
use super::reply::{Body, Reply};
use super::upload::Upload;
use crate::http1::{Framing, Inbound, Outbound};

/// One response, from the wait before its head to its last byte.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) reply: &'a Reply,
    pub(super) clock: &'a Clock,
    /// When the head is to be sent.
    pub(super) due: Moment,
    pub(super) out: &'a mut Outbound,
    pub(super) visit: &'a Visit,
    /// Whether it answers a HEAD.
    pub(super) head_only: bool,
}

impl<'a> Answer<'a> {
    /// Sends a body that does not depend on the request's.
    pub(super) async fn send(self) -> Result<(), Stopped> {
        self.wait().await;
        match &self.reply.body {
            Body::Raw(bytes) => self.raw(bytes).await,
            Body::Whole(bytes) => self.whole(bytes).await,
            Body::Items(items, every) => self.items(items, *every).await,
            Body::Gated(gate) => self.gated(gate).await,
            Body::Echo | Body::WebSocketEcho => Ok(()),
        }
    }

    /// Sends the request's body back while it comes in.
    pub(super) async fn echo(
        self,
        upload: &mut Upload,
        inbound: &mut Inbound,
    ) -> Result<(), Stopped> {
        self.wait().await;
        upload.invite(self.out, self.visit).await?;
        let (reply, visit) = (self.reply, self.visit);
        let mut body = self.begin().await?;
        while let Some(piece) = upload.piece(inbound, visit).await? {
            body.piece(&piece).await?;
        }
        body.finish(&reply.trailers).await
    }

    async fn wait(&self) {
        until(self.clock, self.due).await;
        if let Some(latch) = &self.reply.hold {
            latch.opened().await;
        }
    }

    async fn raw(self, bytes: &Bytes) -> Result<(), Stopped> {
        self.visit.leave();
        self.out.write(bytes).await?;
        self.visit.head_sent();
        Ok(())
    }

    async fn whole(self, bytes: &Bytes) -> Result<(), Stopped> {
        let trailers = &self.reply.trailers;
        let mut body = self.begin().await?;
        body.piece(bytes).await?;
        body.finish(trailers).await
    }

    async fn items(self, items: &[Bytes], every: Duration) -> Result<(), Stopped> {
        let (trailers, clock, mut due) = (&self.reply.trailers, self.clock, self.due);
        let mut body = self.begin().await?;
        for item in items {
            due = due + every;
            until(clock, due).await;
            body.piece(item).await?;
        }
        body.finish(trailers).await
    }

    async fn gated(self, gate: &Gate) -> Result<(), Stopped> {
        let trailers = &self.reply.trailers;
        let mut orders = gate.orders().await;
        let mut body = self.begin().await?;
        while let Some(order) = orders.recv().await {
            match order {
                Order::Write(piece) => body.piece(&piece).await?,
                Order::Finish => break,
                Order::Cut(how) => return Err(Stopped::Cut(how)),
            }
        }
        body.finish(trailers).await
    }

    /// Sends the head.
    async fn begin(self) -> Result<BodyWriter<'a>, Stopped> {
        let (head, framing) = head_writer::write(self.reply, self.head_only);
        if framing == Framing::Empty && self.reply.cut_after.is_none() {
            self.visit.leave();
        }
        self.out.write(&head).await?;
        self.visit.head_sent();
        Ok(BodyWriter {
            out: self.out,
            visit: self.visit,
            framing,
            cut_after: self.reply.cut_after,
            sent: 0,
        })
    }
}

/// Ends at `due`. What is due already costs no turn of the timer, which would
/// add up to a millisecond.
async fn until(clock: &Clock, due: Moment) {
    if clock.now() < due {
        clock.sleep_until(due).await;
    }
}
