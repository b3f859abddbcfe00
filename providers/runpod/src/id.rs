//! What our ids name.

/// What an id of ours stands for at RunPod.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Pod(String),
    Endpoint(String),
}

impl Id {
    /// The id that `text` is; `None` when it is none of ours.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, id) = text.split_once(':')?;
        let id = usable(id)?.to_owned();
        match kind {
            "pod" => Some(Id::Pod(id)),
            "endpoint" => Some(Id::Endpoint(id)),
            _ => None,
        }
    }

    /// The call's path for it, below the API's version.
    pub(crate) fn path(&self) -> [&str; 2] {
        match self {
            Id::Pod(id) => ["pods", id],
            Id::Endpoint(id) => ["serverless", id],
        }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Pod(id) => write!(f, "pod:{id}"),
            Id::Endpoint(id) => write!(f, "endpoint:{id}"),
        }
    }
}

/// `id`, when it can stand in a path and in a host name.
pub(crate) fn usable(id: &str) -> Option<&str> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    ((1..=63).contains(&id.len()) && id.bytes().all(allowed)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_and_nothing_else_is_one() {
        for text in ["pod:7h9k2m4n6p", "endpoint:4m7x2k9q"] {
            assert_eq!(Id::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "", "pod", "pod:", "vm:x", "pod:a/b", "pod:..", "pod:a.b", "01jabc",
        ] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }
}
