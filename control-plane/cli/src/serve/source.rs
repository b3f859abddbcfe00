//! Where keys, tokens and URLs are read from that no configuration should hold.

use std::path::Path;

/// A variable, or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source<'a> {
    /// An environment variable.
    Variable(&'a str),
    /// A file.
    File(&'a Path),
}

impl Source<'_> {
    /// What is there, without the blanks around it.
    ///
    /// # Errors
    /// Why there is nothing, for people.
    pub(super) fn read(self) -> Result<String, String> {
        let found = match self {
            Source::Variable(name) => std::env::var(name).ok(),
            Source::File(file) => std::fs::read_to_string(file).ok(),
        };
        let text = found.map(|text| text.trim().to_owned());
        text.filter(|text| !text.is_empty())
            .ok_or_else(|| self.lack())
    }

    fn lack(self) -> String {
        match self {
            Source::Variable(name) => format!("{name} is not set"),
            Source::File(_) => "the file cannot be read, or is empty".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_comes_without_blanks_and_what_is_not_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let lack = Err("the file cannot be read, or is empty".to_owned());
        assert_eq!(Source::File(&file).read(), lack);
        std::fs::write(&file, " \n").unwrap();
        assert_eq!(Source::File(&file).read(), lack);
        std::fs::write(&file, "k\n").unwrap();
        assert_eq!(Source::File(&file).read(), Ok("k".to_owned()));
        let absent = Source::Variable("THERMOCLINE_ABSENT").read();
        assert_eq!(absent, Err("THERMOCLINE_ABSENT is not set".to_owned()));
    }
}
