use std::sync::Arc;
use std::time::Duration;

use lapin::ErrorKind;
use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::uri::AMQPUri;
use thermocline_clock::Clock;
use thermocline_policy::Moment;
use tokio::sync::watch;

use super::declared::Declared;
use super::session::Session;
use super::topology;
use crate::{BrokerError, Obstacle};

/// Between two attempts to connect: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A connection that is kept: whenever a [`Session`] is lost, the next is
/// opened, for as long as anybody has the link.
pub(super) struct Link {
    state: watch::Receiver<State>,
    clock: Clock,
}

#[derive(Clone)]
enum State {
    /// There is none, and why.
    Down(Arc<Away>),
    Up(Arc<Session>),
}

/// Why there is no session.
#[derive(Debug)]
struct Away {
    why: String,
    obstacle: Obstacle,
}

impl Link {
    /// Begins to connect, to `purpose`.
    pub(super) fn start(
        purpose: &'static str,
        uri: AMQPUri,
        declared: Arc<Declared>,
        clock: Clock,
    ) -> Self {
        let (sender, state) =
            watch::channel(State::Down(Away::lost("not connected yet".into()).into()));
        let keeper = Keeper {
            purpose,
            uri,
            declared,
            clock: clock.clone(),
            state: sender,
        };
        tokio::spawn(keeper.run());
        Link { state, clock }
    }

    /// The session in force, waited for until `deadline`.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn session(&self, deadline: Moment) -> Result<Arc<Session>, BrokerError> {
        let mut state = self.state.clone();
        let up = state.wait_for(|state| matches!(state, State::Up(session) if !session.is_lost()));
        match self.clock.timeout_at(deadline, up).await {
            Ok(Ok(state)) => state.session(),
            _ => self.state.borrow().session(),
        }
    }

    /// Whether there is a session now.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn available(&self) -> Result<(), BrokerError> {
        self.state.borrow().session().map(drop)
    }
}

impl State {
    fn session(&self) -> Result<Arc<Session>, BrokerError> {
        match self {
            State::Up(session) if session.is_lost() => Err(Away::lost(session.reason()).error()),
            State::Up(session) => Ok(session.clone()),
            State::Down(away) => Err(away.error()),
        }
    }
}

impl Away {
    /// There was a session.
    fn lost(why: String) -> Self {
        Away {
            why,
            obstacle: Obstacle::Unreached,
        }
    }

    /// None could be opened.
    fn unopened(error: &BrokerError) -> Self {
        Away {
            why: detailed(error),
            obstacle: obstacle(error),
        }
    }

    fn error(&self) -> BrokerError {
        BrokerError::new(format!("away: {}", self.why)).kept_out_by(self.obstacle)
    }
}

/// What opens sessions for a link.
struct Keeper {
    /// As the log names it: a process has two links.
    purpose: &'static str,
    uri: AMQPUri,
    declared: Arc<Declared>,
    clock: Clock,
    state: watch::Sender<State>,
}

impl Keeper {
    async fn run(self) {
        let mut pause = FIRST_PAUSE;
        let mut told = String::new();
        while !self.state.is_closed() {
            let opened_at = self.clock.now();
            let away = match self.open().await {
                Ok(session) => {
                    told.clear();
                    Away::lost(self.hold(session).await)
                }
                Err(error) => Away::unopened(&error),
            };
            self.tell(away, &mut told);
            if self.clock.now().since(opened_at) > LONGEST_PAUSE * 2 {
                pause = FIRST_PAUSE;
            }
            self.clock.sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Says why there is no session, in the log once for each reason.
    fn tell(&self, away: Away, told: &mut String) {
        if !self.state.is_closed() && away.why != *told {
            tracing::warn!(to = self.purpose, why = %away.why, "no connection to the broker");
            away.why.clone_into(told);
        }
        let _ = self.state.send(State::Down(away.into()));
    }

    /// A session of a broker that has what every installation has.
    async fn open(&self) -> Result<Arc<Session>, BrokerError> {
        let session = Arc::new(Session::open(&self.uri, &self.clock).await?);
        let aside = self.declared.aside();
        topology::declare_exchanges(aside, &session, self.declared.names()).await?;
        self.declared.found(&session).await?;
        Ok(session)
    }

    /// Offers `session` until it is lost; then says why it was.
    async fn hold(&self, session: Arc<Session>) -> String {
        tracing::info!(to = self.purpose, "connected to the broker");
        let _ = self.state.send(State::Up(session.clone()));
        tokio::select! {
            () = session.watch() => {}
            () = self.state.closed() => session.lose("not needed any more"),
        }
        session.reason()
    }
}

/// An error with what it came from; the library's errors name no credentials.
fn detailed(error: &BrokerError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{}: {source}", error.detail()),
        None => error.detail().to_owned(),
    }
}

/// Whether it was the broker that said no, and to what.
fn obstacle(error: &BrokerError) -> Obstacle {
    let source = std::error::Error::source(error).and_then(|it| it.downcast_ref());
    let Some(ErrorKind::ProtocolError(said)) = source.map(lapin::Error::kind) else {
        return Obstacle::Unreached;
    };
    match said.kind() {
        AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED) => Obstacle::User,
        AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED) => Obstacle::VirtualHost,
        _ => Obstacle::Unreached,
    }
}
