use std::future::Future;

use thermocline_policy::Moment;

use super::answer::Answer;
use super::body_writer::Stopped;
use super::connection::{Connection, Next};
use super::log::Visit;
use super::reply::Body;
use super::server::Shared;
use super::upload::Upload;
use super::{Afterwards, Outcome, Reading, Reply, Request, upgrade};
use crate::http1::{Inbound, Outbound};

/// Answers one request as its script says, and keeps what happened.
pub(super) async fn run(connection: &mut Connection, visit: &Visit, arrived: Moment) -> Next {
    let shared = connection.shared.clone();
    let request = visit.request();
    let reply = upgrade::checked(&request, shared.script.reply(&request));
    let exchange = Exchange {
        shared: &shared,
        visit,
        request: &request,
        reply: &reply,
        arrived,
    };
    match exchange.perform(connection).await {
        Ok(()) => {
            visit.end(Outcome::Complete);
            exchange.after_completion()
        }
        Err(Stopped::PeerLeft) => {
            visit.end(Outcome::PeerLeft);
            Next::Close
        }
        Err(Stopped::Cut(how)) => {
            connection.prepare(how);
            visit.end(Outcome::Cut);
            Next::Close
        }
    }
}

struct Exchange<'a> {
    shared: &'a Shared,
    visit: &'a Visit,
    request: &'a Request,
    reply: &'a Reply,
    arrived: Moment,
}

impl Exchange<'_> {
    async fn perform(&self, connection: &mut Connection) -> Result<(), Stopped> {
        let Connection {
            inbound, outbound, ..
        } = connection;
        let mut upload = Upload::of(&self.request.head, self.reply.continues);
        if let Body::WebSocketEcho = self.reply.body {
            return upgrade::run(inbound, outbound, (self.visit, self.request, self.reply)).await;
        }
        if let Body::Echo = self.reply.body {
            return self.answer(outbound).echo(&mut upload, inbound).await;
        }
        match &self.reply.reading {
            Reading::Never => self.answer(outbound).send().await,
            Reading::Alongside => self.both_ways(upload, inbound, outbound).await,
            before => {
                self.read(before, (&mut upload, inbound, outbound)).await?;
                unless(inbound.ended(), self.answer(outbound).send()).await
            }
        }
    }

    /// Takes the body in, up to its end.
    async fn read(
        &self,
        when: &Reading,
        (upload, inbound, outbound): (&mut Upload, &mut Inbound, &mut Outbound),
    ) -> Result<(), Stopped> {
        if let Reading::After(latch) = when {
            latch.opened().await;
        }
        upload.invite(outbound, self.visit).await?;
        if let Reading::Slowly(rate) = when {
            upload.set_pace(&self.shared.clock, *rate);
        }
        Ok(upload.drain(inbound, self.visit).await?)
    }

    async fn both_ways(
        &self,
        mut upload: Upload,
        inbound: &mut Inbound,
        outbound: &mut Outbound,
    ) -> Result<(), Stopped> {
        upload.invite(outbound, self.visit).await?;
        let incoming = async {
            if upload.drain(inbound, self.visit).await.is_ok() {
                inbound.ended().await;
            }
        };
        unless(incoming, self.answer(outbound).send()).await?;
        Ok(upload.drain(inbound, self.visit).await?)
    }

    fn answer<'b>(&'b self, out: &'b mut Outbound) -> Answer<'b> {
        Answer {
            reply: self.reply,
            clock: &self.shared.clock,
            due: self.arrived + self.reply.delay,
            out,
            visit: self.visit,
            head_only: self.request.method() == "HEAD",
        }
    }

    fn after_completion(&self) -> Next {
        if let Reading::Never = self.reply.reading {
            return Next::CloseWhenRead;
        }
        let last = matches!(self.reply.body, Body::Raw(_) | Body::WebSocketEcho);
        if last || self.request.head.closes() {
            return Next::Close;
        }
        match self.reply.afterwards {
            Afterwards::KeepAlive => Next::Request,
            Afterwards::CloseOnNextRequest => Next::CloseOnNextRequest,
            Afterwards::Close | Afterwards::CloseSilently => Next::Close,
        }
    }
}

/// `work`, unless the peer is gone before it is done.
async fn unless(
    gone: impl Future<Output = ()>,
    work: impl Future<Output = Result<(), Stopped>>,
) -> Result<(), Stopped> {
    tokio::select! {
        // The peer may go as soon as it has the last byte.
        biased;
        done = work => done,
        () = gone => Err(Stopped::PeerLeft),
    }
}
