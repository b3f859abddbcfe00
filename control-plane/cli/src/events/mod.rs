//! `events`: what has happened, and with `-f` what happens.

pub(crate) mod sse;

use std::time::Duration;

use reqwest::Response;
use serde::Deserialize;
use thermocline_policy::Moment;

use crate::args::Events;
use crate::client::{CALL_LIMIT, CallError};
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, Format, or_nothing, plain, print};
use crate::session::Session;
use crate::view::Id;
use sse::{Message, Parser};

/// The message that ends the backlog.
const CAUGHT_UP: &str = "caught-up";
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// An event, as far as a line shows it.
#[derive(Debug, Deserialize)]
struct Event {
    id: Option<Id>,
    #[serde(alias = "time")]
    at: Option<String>,
    kind: Option<String>,
    deployment: Option<String>,
    text: Option<String>,
}

/// How a stream ended without an error.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The backlog is printed, and no more was wanted.
    CaughtUp,
    /// The server closed the stream.
    Closed,
}

/// Prints events, one per line.
///
/// # Errors
/// Those of the call. While following, errors that may pass are told and the
/// stream is taken up again where it broke.
pub(crate) async fn run(session: &Session, args: &Events) -> Result<(), Failure> {
    let mut reader = Reader {
        session,
        follow: args.follow,
        connected: false,
        last_id: None,
        pause: FIRST_PAUSE,
    };
    loop {
        match reader.stream().await? {
            Ok(End::CaughtUp) => return Ok(()),
            Ok(End::Closed) if args.follow => reader.wait("the server closed the stream").await,
            Ok(End::Closed) => return Err(Failure::fault("the stream ended within the backlog")),
            Err(error) if reader.may_go_on(&error) => reader.wait(&error.to_string()).await,
            Err(error) => return Err(error.into()),
        }
    }
}

struct Reader<'a> {
    session: &'a Session,
    follow: bool,
    /// Whether there has been a stream: a first refusal is final.
    connected: bool,
    last_id: Option<String>,
    pause: Duration,
}

impl Reader<'_> {
    /// One stream, to its end; the outer error is one of our own output.
    async fn stream(&mut self) -> Result<Result<End, CallError>, Failure> {
        match self.connect().await {
            Ok(stream) => {
                self.connected = true;
                self.read(stream).await
            }
            Err(error) => Ok(Err(error)),
        }
    }

    fn may_go_on(&self, error: &CallError) -> bool {
        self.follow && self.connected && error.is_passing()
    }

    async fn connect(&self) -> Result<Response, CallError> {
        let clock = &self.session.clock;
        let client = &self.session.client;
        let head = client.events(self.last_id.as_deref());
        let head = clock.timeout_at(clock.now() + CALL_LIMIT, head).await;
        head.unwrap_or_else(|_| Err(CallError::TimedOut(client.server().clone())))
    }

    async fn read(&mut self, mut stream: Response) -> Result<Result<End, CallError>, Failure> {
        let mut parser = Parser::default();
        loop {
            let bytes = match self.chunk(&mut stream).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(Ok(End::Closed)),
                Err(error) => return Ok(Err(error)),
            };
            for message in parser.push(&bytes) {
                if message.event == CAUGHT_UP && !self.follow {
                    return Ok(Ok(End::CaughtUp));
                }
                self.take(message)?;
            }
        }
    }

    /// The next bytes. A backlog comes at once or not at all; news may take for ever.
    async fn chunk(&self, stream: &mut Response) -> Result<Option<Vec<u8>>, CallError> {
        let clock = &self.session.clock;
        let deadline = if self.follow {
            Moment::NEVER
        } else {
            clock.now() + CALL_LIMIT
        };
        let client = &self.session.client;
        match clock.timeout_at(deadline, stream.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes.map(Vec::from)),
            Ok(Err(error)) => Err(client.transport(&error)),
            Err(_) => Err(CallError::TimedOut(client.server().clone())),
        }
    }

    fn take(&mut self, message: Message) -> Result<(), Failure> {
        self.pause = FIRST_PAUSE;
        if message.event != CAUGHT_UP
            && let Ok(document) = Document::from_json(message.data.as_bytes())
        {
            print(&shown(self.session.format, &message, &document))?;
        }
        self.last_id = message.id.or(self.last_id.take());
        Ok(())
    }

    async fn wait(&mut self, why: &str) {
        output::note(&format!("{why}; trying again"));
        self.session.clock.sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

fn shown(format: Format, message: &Message, document: &Document) -> String {
    match format {
        Format::Json => document.json_line(),
        Format::Yaml => format!("---\n{}", document.yaml()),
        Format::Table => line(message, document),
    }
}

fn line(message: &Message, document: &Document) -> String {
    let Ok(event) = document.view::<Event>() else {
        return plain(&document.json_line());
    };
    let id = event
        .id
        .map(|id| id.to_string())
        .or_else(|| message.id.clone());
    let kind = event.kind.unwrap_or_else(|| message.event.clone());
    let text = event.text.unwrap_or_default();
    let line = format!(
        "{}  {}  {kind:<14}  {:<16}  {text}",
        or_nothing(id),
        or_nothing(event.at),
        or_nothing(event.deployment),
    );
    plain(line.trim_end())
}
