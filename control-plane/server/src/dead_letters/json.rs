use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use thermocline_store::{DeadLetterGroup, DeadLetterRow};
use thermocline_wire::rfc3339;

use super::refusal::why_not;

/// The most of a payload that is shown.
const MOST_SHOWN: usize = 64 << 10;

/// A letter as a list shows it.
pub(crate) fn letter_json(row: &DeadLetterRow) -> Value {
    let refused = why_not(row);
    json!({
        "id": row.id,
        "deployment": row.deployment,
        "class": row.class.as_str(),
        "fingerprint": row.fingerprint,
        "cause": row.cause.as_str(),
        "kind": row.kind,
        "detail": row.detail,
        "attempts": row.attempts,
        "state": row.state.as_str(),
        "outcome": row.outcome.as_deref().map(stored),
        "replayable": refused.is_none(),
        "not_replayable": refused.map(|(_, why)| why),
        "payload": { "bytes": row.payload_bytes, "kept": row.payload_kept },
        "cut": stored(&row.cut),
        "first_seen": rfc3339(row.first_seen),
        "last_seen": rfc3339(row.last_seen),
        "changed_at": rfc3339(row.changed_at),
    })
}

/// A letter with its failures, its request and the beginning of its payload.
pub(crate) fn whole_json(row: &DeadLetterRow, payload: Option<&[u8]>) -> Value {
    let mut letter = letter_json(row);
    letter["failures"] = stored(&row.failures);
    letter["request"] = row.head.as_deref().map(shown_head).unwrap_or_default();
    if let Some(payload) = payload {
        show(payload, &mut letter["payload"]);
    }
    letter
}

/// Letters that failed alike.
pub(crate) fn group_json(group: &DeadLetterGroup) -> Value {
    let classes: Vec<&str> = group.classes.iter().map(|class| class.as_str()).collect();
    json!({
        "fingerprint": group.fingerprint,
        "kind": group.kind,
        "detail": group.detail,
        "classes": classes,
        "deployments": group.deployments,
        "letters": group.letters,
        "open": group.open,
        "replayable": group.replayable,
        "first_seen": rfc3339(group.first_seen),
        "last_seen": rfc3339(group.last_seen),
    })
}

/// The beginning of `payload`: as it is where it is text, else in base64.
fn show(payload: &[u8], shown: &mut Value) {
    let beginning = &payload[..payload.len().min(MOST_SHOWN)];
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => Some(text),
        // The cut may stand within a character.
        Err(error) if error.error_len().is_none() && beginning.len() < payload.len() => {
            std::str::from_utf8(&beginning[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let (encoding, content, bytes) = match text {
        Some(text) => ("text", text.to_owned(), text.len()),
        None => ("base64", BASE64_STANDARD.encode(beginning), beginning.len()),
    };
    shown["encoding"] = json!(encoding);
    shown["content"] = json!(content);
    shown["shown_bytes"] = json!(bytes);
}

/// A request's head without what is sealed of it.
fn shown_head(head: &str) -> Value {
    let mut head = stored(head);
    if let Some(fields) = head.as_object_mut() {
        fields.remove("sealed");
    }
    head
}

/// What we wrote as JSON.
fn stored(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(payload: &[u8]) -> Value {
        let mut value = json!({});
        show(payload, &mut value);
        value
    }

    #[test]
    fn text_is_shown_as_it_is_and_anything_else_in_base64() {
        assert_eq!(shown(b"{\"a\":1}")["content"], "{\"a\":1}");
        assert_eq!(shown(b"")["encoding"], "text");
        let bytes = shown(&[0xff, 0x00]);
        assert_eq!(
            (&bytes["encoding"], &bytes["content"]),
            (&json!("base64"), &json!("/wA="))
        );
    }

    #[test]
    fn of_a_long_payload_the_beginning_is_shown_whole_characters_alone() {
        let text = format!("a{}", "é".repeat(MOST_SHOWN));
        let beginning = shown(text.as_bytes());
        assert_eq!(beginning["encoding"], "text");
        assert_eq!(beginning["shown_bytes"], MOST_SHOWN - 1);
    }
}
