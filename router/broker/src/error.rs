/// The broker could not be reached, or refused. Its text is for the log.
#[derive(Debug, thiserror::Error)]
#[error("broker: {detail}")]
pub struct BrokerError {
    detail: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl BrokerError {
    /// Says what was tried.
    pub fn new(detail: impl Into<String>) -> Self {
        BrokerError {
            detail: detail.into(),
            source: None,
        }
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

/// The delivery is not the holder's any more: its lease ran out, or the
/// connection that it came by is gone. Somebody else has it, or will.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the delivery was lost to another worker")]
pub struct Lost;
