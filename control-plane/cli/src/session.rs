//! What every verb that asks the server needs.

use thermocline_clock::Clock;

use crate::args::Remote;
use crate::client::Client;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{self, Format};

/// One command's way to the server and back to the user.
#[derive(Debug)]
pub(crate) struct Session {
    /// The server.
    pub(crate) client: Client,
    /// How results are written.
    pub(crate) format: Format,
    /// The time.
    pub(crate) clock: Clock,
}

impl Session {
    /// A session as the command line wants it; nothing is sent yet.
    ///
    /// # Errors
    /// Those of [`Client::new`].
    pub(crate) fn new(remote: Remote) -> Result<Self, Failure> {
        Ok(Session {
            client: Client::new(remote.server, remote.token.as_deref())?,
            format: remote.output,
            clock: Clock::system(),
        })
    }

    /// Writes a result; see [`output::show`].
    ///
    /// # Errors
    /// What `text` fails with, and when stdout cannot be written.
    pub(crate) fn show(
        &self,
        document: &Document,
        text: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        output::show(self.format, document, text)
    }
}
