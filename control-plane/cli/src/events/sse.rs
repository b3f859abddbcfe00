//! Server-sent events, as the HTML standard has them, from bytes in any portions.

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// The stream's position behind this message; as it was when not given.
    pub(crate) id: Option<String>,
    /// The kind; `message` when not given.
    pub(crate) event: String,
    /// The lines of data, joined.
    pub(crate) data: String,
}

/// Collects bytes into messages.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    id: Option<String>,
    event: String,
    data: Option<String>,
}

impl Parser {
    /// The messages that `bytes` complete. A message that its stream does not
    /// complete is dropped, as the standard wants; one that has only a kind is
    /// kept, unlike there, for it is how the end of a backlog is told.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.after_cr) => {} // the second half of CR LF
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    messages.extend(self.end_line());
                }
                _ => {
                    self.after_cr = false;
                    self.line.push(byte);
                }
            }
        }
        messages
    }

    fn end_line(&mut self) -> Option<Message> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first {
            line.trim_start_matches('\u{feff}')
        } else {
            &line
        };
        if line.is_empty() {
            return self.end_message();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        self.field(field, value.strip_prefix(' ').unwrap_or(value));
        None
    }

    /// Fields of other names, and comments, which have none, say nothing.
    fn field(&mut self, field: &str, value: &str) {
        match field {
            "event" => value.clone_into(&mut self.event),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            _ => {}
        }
    }

    fn end_message(&mut self) -> Option<Message> {
        let event = std::mem::take(&mut self.event);
        if event.is_empty() && self.data.is_none() {
            return None;
        }
        let data = self.data.take().unwrap_or_default();
        let event = if event.is_empty() {
            "message".to_owned()
        } else {
            event
        };
        Some(Message {
            id: self.id.clone(),
            event,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\n\nid: 1\nevent: tier\ndata: {\"a\":\r\ndata: 1}\r\n\r\n\
                          retry: 5\rdata:x\r\rid\ndata\n\nevent: alone\n\nid: 9\ndata: cut off";

    fn expected() -> Vec<Message> {
        let message = |id: &str, event: &str, data: &str| Message {
            id: Some(id.to_owned()),
            event: event.to_owned(),
            data: data.to_owned(),
        };
        vec![
            message("1", "tier", "{\"a\":\n1}"),
            message("1", "message", "x"),
            message("", "message", ""),
            message("", "alone", ""),
        ]
    }

    #[test]
    fn the_portions_of_the_network_do_not_matter() {
        for size in 1..STREAM.len() {
            let mut parser = Parser::default();
            let portions = STREAM.as_bytes().chunks(size);
            let messages: Vec<_> = portions.flat_map(|bytes| parser.push(bytes)).collect();
            assert_eq!(messages, expected(), "in portions of {size}");
        }
    }

    #[test]
    fn an_id_with_a_nul_is_no_position() {
        let messages = Parser::default().push(b"id: a\0b\ndata: x\n\n");
        assert_eq!(messages[0].id, None);
    }
}
