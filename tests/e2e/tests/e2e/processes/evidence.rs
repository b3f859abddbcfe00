/// What people could look at, and what must not be in it.
pub(super) struct Evidence {
    sought: Vec<(String, String)>,
    kept: Vec<(String, Vec<u8>)>,
}

impl Evidence {
    /// `mark` is in every canary; the key has a form of its own.
    pub(super) fn new(mark: &str, key: &str) -> Self {
        let sought = [("a canary", mark), ("the key", key)];
        Evidence {
            sought: sought.map(|(what, it)| (what.into(), it.into())).into(),
            kept: Vec::new(),
        }
    }

    /// A further text that must not be found.
    pub(super) fn seek(&mut self, what: &str, text: &str) {
        assert!(text.len() > 8, "{what} is something");
        self.sought.push((what.to_owned(), text.to_owned()));
    }

    pub(super) fn keep(&mut self, place: &str, text: String) {
        self.keep_bytes(place, text.into_bytes());
    }

    pub(super) fn keep_bytes(&mut self, place: &str, bytes: Vec<u8>) {
        self.kept.push((place.to_owned(), bytes));
    }

    /// Whether `text` stands at `place`.
    pub(super) fn shows(&self, place: &str, text: &str) -> bool {
        let mut at = self.kept.iter().filter(|(known, _)| known == place);
        at.any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(text))
    }

    /// # Panics
    /// With every place where something was found, and what stands around it.
    pub(super) fn holds_none(&self) {
        let mut found = Vec::new();
        for (place, bytes) in &self.kept {
            let text = String::from_utf8_lossy(bytes);
            for (what, sought) in &self.sought {
                if let Some(at) = text.find(sought) {
                    let before: String = text[..at].chars().rev().take(160).collect();
                    let before: String = before.chars().rev().collect();
                    let after: String = text[at..].chars().take(80).collect();
                    found.push(format!("{what} in {place}: …{before}{after}…"));
                }
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n\n"));
        let bytes: usize = self.kept.iter().map(|(_, bytes)| bytes.len()).sum();
        println!("0 found in {} places, {bytes} bytes", self.kept.len());
    }
}
