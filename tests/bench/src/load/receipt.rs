//! What came as an answer, and whether it is what was asked for.

use super::events::EventReader;
use super::fault::Fault;
use crate::kind::Kind;

/// The body of one answer, kept only as far as the check needs it.
#[derive(Debug)]
pub(crate) enum Receipt {
    Text(Vec<u8>),
    Count(u64),
    Events(EventReader),
}

impl Receipt {
    /// An empty one for an answer of `kind`.
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Post(_) | Kind::Upload(_) => Receipt::Text(Vec::new()),
            Kind::Download(_) => Receipt::Count(0),
            Kind::Burst | Kind::Paced => Receipt::Events(EventReader::default()),
        }
    }

    /// Takes the next part of the body.
    pub(crate) fn take(&mut self, part: &[u8]) {
        match self {
            Receipt::Text(text) => text.extend_from_slice(part),
            Receipt::Count(count) => *count += part.len() as u64,
            Receipt::Events(events) => events.take(part),
        }
    }

    /// Fails unless this is the whole answer to a request of `kind`.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), Fault> {
        let good = match (self, kind) {
            (Receipt::Text(text), Kind::Post(bytes) | Kind::Upload(bytes)) => {
                text.starts_with(format!(r#"{{"received":{bytes},"whole":true,"#).as_bytes())
            }
            (Receipt::Count(count), Kind::Download(bytes)) => *count == bytes,
            (Receipt::Events(events), _) => events.is_whole(kind.events()),
            _ => false,
        };
        if good { Ok(()) } else { Err(Fault::WrongBody) }
    }

    /// How late each event came, nanoseconds; nothing for other answers.
    pub(crate) fn lateness(&self) -> &[u64] {
        match self {
            Receipt::Events(events) => events.lateness(),
            _ => &[],
        }
    }

    /// The body as text, empty if it was not kept.
    pub(crate) fn text(&self) -> String {
        match self {
            Receipt::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_is_checked_by_what_the_backend_received() {
        let mut receipt = Receipt::new(Kind::Upload(10));
        receipt.take(br#"{"received":10,"wh"#);
        receipt.take(br#"ole":true,"model":""}"#);
        assert_eq!(receipt.check(Kind::Upload(10)), Ok(()));
        assert_eq!(receipt.check(Kind::Upload(11)), Err(Fault::WrongBody));
    }

    #[test]
    fn a_short_download_is_a_fault() {
        let mut receipt = Receipt::new(Kind::Download(3));
        receipt.take(b"ab");
        assert_eq!(receipt.check(Kind::Download(3)), Err(Fault::WrongBody));
    }
}
