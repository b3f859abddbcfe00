//! YAML, as JSON values.

use serde_json::{Map, Number, Value};
use yaml_serde::Value as Yaml;

/// The documents of a YAML (or JSON) text.
///
/// # Errors
/// What is wrong with the text, with its line where that is known.
pub fn documents(text: &str) -> Result<Vec<Value>, String> {
    use serde::Deserialize;
    yaml_serde::Deserializer::from_str(text)
        .map(|document| {
            let yaml = Yaml::deserialize(document).map_err(|e| e.to_string())?;
            json(yaml)
        })
        .filter(|document| !matches!(document, Ok(Value::Null)))
        .collect()
}

/// The YAML text of a JSON value.
pub fn to_yaml(value: &Value) -> String {
    yaml_serde::to_string(value).unwrap_or_default()
}

fn json(yaml: Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => Value::Bool(flag),
        Yaml::String(text) => Value::String(text),
        // What is not finite becomes text, which no number's reader accepts: so
        // it is one mistake among others, with its field.
        Yaml::Number(number) => {
            finite(&number).map_or_else(|| Value::String(number.to_string()), Value::Number)
        }
        Yaml::Sequence(items) => {
            Value::Array(items.into_iter().map(json).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                out.insert(key_text(key)?, json(value)?);
            }
            Value::Object(out)
        }
        Yaml::Tagged(tagged) => return Err(format!("the tag {} is not allowed", tagged.tag)),
    })
}

fn finite(number: &yaml_serde::Number) -> Option<Number> {
    let whole = number.as_i64().map(Number::from);
    whole
        .or_else(|| number.as_u64().map(Number::from))
        .or_else(|| number.as_f64().and_then(Number::from_f64))
}

fn key_text(key: Yaml) -> Result<String, String> {
    match key {
        Yaml::String(text) => Ok(text),
        Yaml::Number(number) => Ok(number.to_string()),
        Yaml::Bool(flag) => Ok(flag.to_string()),
        Yaml::Null | Yaml::Sequence(_) | Yaml::Mapping(_) | Yaml::Tagged(_) => {
            Err("a key must be a text".to_owned())
        }
    }
}
