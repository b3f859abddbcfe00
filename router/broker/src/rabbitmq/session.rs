use std::fmt::Display;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::ConfirmSelectOptions;
use lapin::types::FieldTable;
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection, ConnectionProperties, Event};
use thermocline_clock::Clock;
use tokio_util::sync::CancellationToken;

use super::transport::{Transport, runtime};
use crate::BrokerError;

/// The longest that the broker may take to answer anything.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// One connection, from its opening until anything goes wrong with it. What
/// was delivered by it is lost then.
pub(super) struct Session {
    connection: Connection,
    /// For publishing, or for consuming and settling.
    pub(super) channel: Channel,
    lost: CancellationToken,
    reason: Mutex<Option<String>>,
    clock: Clock,
}

impl Session {
    /// Connects, and opens the channel.
    ///
    /// # Errors
    /// When that did not end well in [`PATIENCE`].
    pub(super) async fn open(uri: &AMQPUri, clock: &Clock) -> Result<Self, BrokerError> {
        let lost = CancellationToken::new();
        // Whatever is left of a failed opening ends with the guard.
        let guard = lost.clone().drop_guard();
        let opening = Self::set_up(uri, clock, lost);
        let opened = clock.timeout_at(clock.now() + PATIENCE, opening).await;
        let session = opened
            .map_err(|_| BrokerError::new("no answer while connecting"))?
            .map_err(|error| BrokerError::new("could not connect").caused_by(error))?;
        guard.disarm();
        Ok(session)
    }

    async fn set_up(uri: &AMQPUri, clock: &Clock, lost: CancellationToken) -> lapin::Result<Self> {
        let cut = lost.clone();
        let connect = async move |uri: AMQPUri, _| {
            let transport = Transport::connect(&uri, &cut).await;
            Ok(transport.map_err(lapin::Error::from)?.into_stream())
        };
        let named = ConnectionProperties::default().with_connection_name("thermocline".into());
        let connection = Connection::connector(uri.clone(), runtime(), connect, named).await?;
        let channel = connection.create_channel().await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        Ok(Session {
            connection,
            channel,
            lost,
            reason: Mutex::default(),
            clock: clock.clone(),
        })
    }

    /// Channels that it may open beside its own, whether or not they are closed again.
    pub(super) fn channels(&self) -> u16 {
        self.connection
            .configuration()
            .channel_max()
            .saturating_sub(1)
    }

    /// Whether the broker is still there.
    pub(super) async fn answers(&self) -> bool {
        !self.is_lost() && self.ask(self.own_channel()).await.is_ok()
    }

    /// One more channel, closed when dropped.
    pub(super) async fn own_channel(&self) -> lapin::Result<Channel> {
        self.connection.create_channel().await
    }

    /// Whether the broker says that it takes no messages now: memory or disk is low.
    pub(super) fn blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// Something went wrong: ends the connection, for good.
    pub(super) fn lose(&self, reason: impl Display) {
        let mut known = self.reason.lock().unwrap_or_else(|e| e.into_inner());
        known.get_or_insert_with(|| reason.to_string());
        self.lost.cancel();
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Ends once it is lost.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Why it was lost.
    pub(super) fn reason(&self) -> String {
        let reason = self.reason.lock().unwrap_or_else(|e| e.into_inner());
        reason.clone().unwrap_or_default()
    }

    /// What `call` gives. Without an answer in [`PATIENCE`], or with an error,
    /// the session is lost.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) async fn ask<T>(
        &self,
        call: impl Future<Output = lapin::Result<T>>,
    ) -> Result<T, BrokerError> {
        let answer = self.try_ask(call).await?;
        answer.map_err(|error| self.broken(error))
    }

    /// Like [`Session::ask`], but an error that the broker answers is the caller's.
    pub(super) async fn try_ask<T>(
        &self,
        call: impl Future<Output = lapin::Result<T>>,
    ) -> Result<lapin::Result<T>, BrokerError> {
        self.wait(call, PATIENCE).await?.ok_or_else(|| {
            self.lose("no answer");
            BrokerError::new("no answer")
        })
    }

    /// What `call` gives within `patience`; nothing by then is for the caller
    /// to judge.
    pub(super) async fn wait<T>(
        &self,
        call: impl Future<Output = T>,
        patience: Duration,
    ) -> Result<Option<T>, BrokerError> {
        let by = self.clock.now() + patience;
        tokio::select! {
            () = self.lost() => Err(BrokerError::new("the connection was lost")),
            answer = self.clock.timeout_at(by, call) => Ok(answer.ok()),
        }
    }

    /// The session is lost by `error`, which is the caller's too.
    pub(super) fn broken(&self, error: lapin::Error) -> BrokerError {
        self.lose(&error);
        BrokerError::new("the connection broke").caused_by(error)
    }

    /// Watches for what nobody asked about: a close by the broker, a heartbeat
    /// that does not come. Ends once the session is lost.
    pub(super) async fn watch(&self) {
        let mut events = std::pin::pin!(self.connection.events_listener());
        loop {
            let event = tokio::select! {
                () = self.lost() => return,
                event = events.next() => event,
            };
            match event {
                // What goes wrong on a single channel is for whoever uses it.
                Some(Event::Error(error)) if error.is_amqp_soft_error() => {}
                Some(Event::Error(error)) => self.lose(error),
                None => self.lose("the connection ended"),
                Some(_) => {}
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.lost.cancel();
    }
}

/// A table of arguments.
pub(super) fn table<const N: usize>(entries: [(&str, lapin::types::AMQPValue); N]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in entries {
        table.insert(name.into(), value);
    }
    table
}
