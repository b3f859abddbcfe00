//! The `model` field of a JSON body, found while the body still comes: nobody
//! waits for the rest, and nothing is gathered but what stands before it.

/// Longer keys and values are not looked into: no name is that long.
const LONGEST_TEXT: usize = 1024;

/// What is known after a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// It may still come.
    Goes,
    Found(String),
    /// The body is no object, or its `model` is no name.
    Hopeless,
}

/// A search through one body. It finds the first `model` at the top level of an
/// object; whether the rest is JSON is the backend's matter.
#[derive(Debug, Default)]
pub(crate) struct ModelField {
    place: Place,
    /// How many brackets are open, the body's own included.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The text being read with its quotes, while it is of interest.
    text: Vec<u8>,
    is_model: bool,
}

/// Where in the top level the next byte stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Key,
    Colon,
    Value,
}

impl ModelField {
    /// Looks through the next piece.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Search {
        for byte in bytes {
            let search = match self.in_string {
                true => self.within_string(*byte),
                false => self.between(*byte),
            };
            if search != Search::Goes {
                return search;
            }
        }
        Search::Goes
    }

    fn within_string(&mut self, byte: u8) -> Search {
        if self.depth == 1 && self.text.len() < LONGEST_TEXT {
            self.text.push(byte);
        }
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => return self.string_ended(),
            _ => {}
        }
        Search::Goes
    }

    fn string_ended(&mut self) -> Search {
        self.in_string = false;
        if self.depth != 1 {
            return Search::Goes;
        }
        let text = serde_json::from_slice::<String>(&self.text).ok();
        match self.place {
            Place::Key => {
                self.is_model = text.as_deref() == Some("model");
                self.place = Place::Colon;
                Search::Goes
            }
            Place::Value if self.is_model => text.map_or(Search::Hopeless, Search::Found),
            _ => Search::Goes,
        }
    }

    fn between(&mut self, byte: u8) -> Search {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' if self.place == Place::Start => (self.depth, self.place) = (1, Place::Key),
            _ if self.place == Place::Start => return Search::Hopeless,
            b'"' => {
                self.in_string = true;
                self.text.clear();
                self.text.push(byte);
            }
            b':' if self.depth == 1 => self.place = Place::Value,
            b',' if self.depth == 1 => self.place = Place::Key,
            _ if self.depth == 1 && self.place == Place::Value && self.is_model => {
                return Search::Hopeless;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 1 => return Search::Hopeless,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        Search::Goes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same in one piece and byte by byte.
    fn search(body: &str) -> Search {
        let whole = ModelField::default().push(body.as_bytes());
        let mut field = ModelField::default();
        let each = body.bytes().map(|byte| field.push(&[byte]));
        let found = each.into_iter().find(|search| *search != Search::Goes);
        assert_eq!(found.unwrap_or(Search::Goes), whole, "{body}");
        whole
    }

    #[test]
    fn the_first_model_of_the_top_level_is_found_before_the_rest_has_come() {
        let found = |name: &str| Search::Found(name.to_owned());
        assert_eq!(search(r#"{"model":"a""#), found("a"));
        assert_eq!(search(" {\n \"x\" : 1 , \"model\" : \"b\","), found("b"));
        let nested = r#"{"x":{"model":"no"},"y":["model","no",{"model":3}],"model":"c""#;
        assert_eq!(search(nested), found("c"));
        let texts = r#"{"x":"\"model\":\"no\"","z":"}","model":"d""#;
        assert_eq!(search(texts), found("d"));
        assert_eq!(search(r#"{"\u006dodel":"e\n""#), found("e\n"));
        assert_eq!(
            search(r#"{"x":null,"y":[[]],"model":"f","model":"g"}"#),
            found("f")
        );
    }

    #[test]
    fn what_names_no_model_is_given_up_as_soon_as_that_is_certain() {
        for body in [
            "[",
            "3",
            "x",
            r#"{"a":1}"#,
            "{}",
            r#"{"model":3"#,
            r#"{"model":["#,
        ] {
            assert_eq!(search(body), Search::Hopeless, "{body}");
        }
        for body in [
            "",
            " ",
            "{",
            r#"{"mod"#,
            r#"{"model""#,
            r#"{"model":"a"#,
            r#"{"x":{"#,
        ] {
            assert_eq!(search(body), Search::Goes, "{body}");
        }
        let long = format!(r#"{{"model":"{}""#, "m".repeat(2000));
        assert_eq!(search(&long), Search::Hopeless);
    }
}
