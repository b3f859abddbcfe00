//! The configuration's layers: a TOML file under the environment.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::failure::Failure;

const PREFIX: &str = "THERMOCLINE_";

/// A configuration, and where its keys came from.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) value: Value,
    file: String,
    from_environment: HashMap<String, String>,
}

impl Document {
    /// With the providers that keys in the environment imply: names and variables.
    pub(super) fn with_implied_providers(mut self, implied: &[Implied]) -> Self {
        for it in implied {
            let has_key = std::env::var(it.variable).is_ok_and(|key| !key.is_empty());
            if has_key && !it.goes_elsewhere(&self.value) {
                imply(&mut self.value, it.kind);
            }
        }
        self
    }

    /// What set `key`: the file, or a variable.
    pub(super) fn origin(&self, key: &str) -> &str {
        let exact = self.from_environment.get(key);
        let below = || {
            let mut variables = self.from_environment.iter();
            let of_section = |(path, _): &(&String, &String)| {
                path.strip_prefix(key)
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            variables.find(of_section).map(|(_, variable)| variable)
        };
        exact.or_else(below).unwrap_or(&self.file)
    }
}

/// A kind of provider that exists by itself, under its own name, when a variable
/// holds a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Implied {
    pub(super) kind: &'static str,
    pub(super) variable: &'static str,
    /// What says that a provider of the kind is not at the service itself.
    pub(super) address: &'static str,
}

impl Implied {
    /// Whether a configured provider takes the variable's key to an address of
    /// its own: then the key is none of the service's.
    fn goes_elsewhere(&self, document: &Value) -> bool {
        let providers = document.get("providers").and_then(Value::as_object);
        let mut providers = providers.into_iter().flat_map(|all| all.values());
        providers.any(|provider| {
            let variable = provider.get("api_key_env");
            provider["kind"] == self.kind
                && provider.get(self.address).is_some()
                && provider.get("api_key_file").is_none()
                && variable.is_none_or(|variable| variable == self.variable)
        })
    }
}

/// Reads `path`, which must be there when it was `named`, and lays the
/// variables `THERMOCLINE_<SECTION>__<KEY>` over it; one that is empty is unset.
pub(super) fn read(
    path: &Path,
    named: bool,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Document, Failure> {
    let file = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => String::new(),
        Err(error) => return Err(Failure::mistake(format!("{file}: cannot be read: {error}"))),
    };
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| Failure::mistake(format!("{file}: {error}")))?;
    let mut document = Document {
        value: json(toml::Value::Table(table)),
        file,
        from_environment: HashMap::new(),
    };
    for (name, raw) in environment.filter(|(_, raw)| !raw.is_empty()) {
        lay_over(&mut document, &name, &raw);
    }
    Ok(document)
}

/// Makes sure of `[providers.NAME]` and its kind, in a document that can have one.
fn imply(document: &mut Value, name: &str) {
    let section = document
        .as_object_mut()
        .map(|root| root.entry("providers").or_insert_with(|| json!({})))
        .and_then(Value::as_object_mut)
        .map(|providers| providers.entry(name).or_insert_with(|| json!({})))
        .and_then(Value::as_object_mut);
    if let Some(section) = section {
        section.entry("kind").or_insert_with(|| name.into());
    }
}

fn lay_over(document: &mut Document, name: &str, raw: &str) {
    let Some(key) = name.strip_prefix(PREFIX).filter(|key| key.contains("__")) else {
        return;
    };
    let path: Vec<String> = key.split("__").map(str::to_ascii_lowercase).collect();
    let mut at = &mut document.value;
    for part in &path {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[part.as_str()];
    }
    *at = scalar(raw);
    document
        .from_environment
        .insert(path.join("."), name.to_owned());
}

/// A variable's value: a number, a flag or a list where it reads as one, else text.
fn scalar(raw: &str) -> Value {
    let parsed = format!("value = {raw}").parse::<toml::Table>().ok();
    parsed
        .and_then(|mut table| table.remove("value"))
        .map_or_else(|| Value::String(raw.to_owned()), json)
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(whole) => Value::from(whole),
        // A value that is not finite becomes text, which no number's reader accepts.
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        toml::Value::Table(table) => Value::Object(
            table
                .into_iter()
                .map(|(key, value)| (key, json(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(environment: &[(&str, &str)]) -> Document {
        let environment = environment
            .iter()
            .map(|(k, v)| (k.to_string(), v.to_string()));
        read(Path::new("absent.toml"), false, environment).unwrap()
    }

    #[test]
    fn the_environment_lies_over_the_file() {
        let document = read_with(&[
            ("THERMOCLINE_POLICY__PROMOTE_RPS", "0.5"),
            ("THERMOCLINE_POLICY__WINDOW", "5m"),
            ("THERMOCLINE_REQUEST__LISTEN", "127.0.0.1:0"),
            ("THERMOCLINE_PROVIDERS__TOY__KIND", "sim"),
            ("THERMOCLINE_POLICY__HOLD", ""),
            ("THERMOCLINE_ADMIN_TOKEN", "secret"),
            ("PATH", "/bin"),
        ]);
        let expected = json!({
            "policy": { "promote_rps": 0.5, "window": "5m" },
            "request": { "listen": "127.0.0.1:0" },
            "providers": { "toy": { "kind": "sim" } },
        });
        assert_eq!(document.value, expected);
        assert_eq!(
            document.origin("policy.window"),
            "THERMOCLINE_POLICY__WINDOW"
        );
        assert_eq!(document.origin("policy.hold"), "absent.toml");
        assert!(
            document
                .origin("providers.toy")
                .starts_with("THERMOCLINE_PROVIDERS__TOY")
        );
    }

    #[test]
    fn a_key_in_the_environment_makes_a_provider_and_changes_none() {
        let mut document = json!({ "providers": { "toy": { "kind": "sim" } } });
        imply(&mut document, "runpod");
        assert_eq!(document["providers"]["runpod"], json!({ "kind": "runpod" }));
        assert_eq!(document["providers"]["toy"], json!({ "kind": "sim" }));
        let mut document = json!({ "providers": { "runpod": { "cloud": "community" } } });
        imply(&mut document, "runpod");
        assert_eq!(document["providers"]["runpod"]["cloud"], "community");
        let mut odd = json!({ "providers": 7 });
        imply(&mut odd, "runpod");
        assert_eq!(odd, json!({ "providers": 7 }));
    }

    #[test]
    fn a_key_that_goes_elsewhere_makes_no_provider() {
        let implied = Implied {
            kind: "vast",
            variable: "VAST_API_KEY",
            address: "base_url",
        };
        let elsewhere =
            |provider: Value| implied.goes_elsewhere(&json!({ "providers": { "mine": provider } }));
        let fake = json!({ "kind": "vast", "base_url": "http://127.0.0.1:1" });
        assert!(elsewhere(fake.clone()));
        let mut other_key = fake;
        other_key["api_key_env"] = json!("FAKE_KEY");
        assert!(!elsewhere(other_key));
        assert!(
            !elsewhere(json!({ "kind": "vast", "bid": 1.2 })),
            "both are the service's"
        );
        assert!(!implied.goes_elsewhere(&json!({})));
    }

    #[test]
    fn a_named_file_must_be_there() {
        assert!(read(Path::new("absent.toml"), true, std::iter::empty()).is_err());
    }
}
