/// The broker could not be reached, or refused. Its text is for the log.
#[derive(Debug, thiserror::Error)]
#[error("broker: {detail}")]
pub struct BrokerError {
    detail: String,
    obstacle: Obstacle,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl BrokerError {
    /// Says what was tried.
    pub fn new(detail: impl Into<String>) -> Self {
        BrokerError {
            detail: detail.into(),
            obstacle: Obstacle::default(),
            source: None,
        }
    }

    /// What keeps us from the broker, for people.
    pub fn obstacle(&self) -> Obstacle {
        self.obstacle
    }

    /// Says what keeps us from it.
    pub(crate) fn kept_out_by(mut self, obstacle: Obstacle) -> Self {
        self.obstacle = obstacle;
        self
    }

    /// What was tried.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Adds what it came from.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// What keeps us from the broker. Its text names no address and no credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// It does not answer.
    #[default]
    #[error("the broker cannot be reached")]
    Unreached,
    /// It answers, and takes no such user or password, or does not let the user
    /// do what is needed.
    #[error("the broker refuses the user, the password or what the user needs to do")]
    User,
    /// It answers, and has no such virtual host, or has it closed to the user.
    #[error("the broker has no such virtual host, or has it closed to the user")]
    VirtualHost,
}

/// The delivery is not the holder's any more: its lease ran out, or the
/// connection that it came by is gone. Somebody else has it, or will.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the delivery was lost to another worker")]
pub struct Lost;
