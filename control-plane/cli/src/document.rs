//! The server's JSON, kept as it was written.

use serde::de::DeserializeOwned;
use yaml_serde::{Mapping, Value};

/// A JSON document whose keys keep the server's order.
///
/// It is held as a YAML value: that one remembers the order of keys, which
/// `serde_json::Value` does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document(Value);

impl Document {
    /// The document of an answer without a body.
    pub(crate) const EMPTY: Document = Document(Value::Null);

    /// Reads an answer's body.
    ///
    /// # Errors
    /// When it is not JSON.
    pub(crate) fn from_json(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body).map(Document)
    }

    /// A whole list, made of the items of its pages.
    pub(crate) fn list(items: Vec<Value>) -> Self {
        let mut list = Mapping::new();
        list.insert("items".into(), Value::Sequence(items));
        list.insert("next".into(), Value::Null);
        Document(Value::Mapping(list))
    }

    /// Whether the answer had no body.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    /// The document under `key`; empty where there is none.
    pub(crate) fn field(&self, key: &str) -> Document {
        Document(self.0.get(key).cloned().unwrap_or_default())
    }

    /// The entries of an `items` list; none where there is no such list.
    pub(crate) fn items(&self) -> Vec<Value> {
        let items = self.0.get("items").and_then(Value::as_sequence);
        items.cloned().unwrap_or_default()
    }

    /// Where a list goes on.
    pub(crate) fn next(&self) -> Option<String> {
        Some(self.0.get("next")?.as_str()?.to_owned())
    }

    /// The fields that a verb reads.
    ///
    /// # Errors
    /// When one of them is missing or of another kind.
    pub(crate) fn view<T: DeserializeOwned>(&self) -> Result<T, yaml_serde::Error> {
        yaml_serde::from_value(self.0.clone())
    }

    /// JSON for people and `jq`, indented.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap_or_default()
    }

    /// JSON on one line, for streams.
    pub(crate) fn json_line(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// The same as YAML.
    pub(crate) fn yaml(&self) -> String {
        yaml_serde::to_string(&self.0).unwrap_or_default()
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Document(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_numbers_stay_as_the_server_wrote_them() {
        let body = r#"{"z":1,"a":[0.25,-3,true,null,"!x"],"m":{"k":18446744073709551615}}"#;
        let document = Document::from_json(body.as_bytes()).unwrap();
        assert_eq!(document.json_line(), body);
        assert_eq!(
            document.yaml(),
            "z: 1\na:\n- 0.25\n- -3\n- true\n- null\n- '!x'\nm:\n  k: 18446744073709551615\n"
        );
    }

    #[test]
    fn a_list_says_where_it_goes_on() {
        let page = Document::from_json(br#"{"items":[1,2],"next":"c2"}"#).unwrap();
        assert_eq!(page.next().as_deref(), Some("c2"));
        assert_eq!(page.items().len(), 2);
        assert_eq!(Document::list(page.items()).next(), None);
    }
}
