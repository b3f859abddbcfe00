//! `${NAME}` inside strings becomes the environment's value.
//!
//! A string stays a string, whatever is put in, and what was put in is not
//! looked at again. `$${` stands for `${`.

use serde_json::{Map, Value};
use thermocline_policy::FieldErrors;

/// Looks a variable up.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The specification as it is sent, and every field that refers to what does
/// not exist: those are null.
pub(crate) fn resolve(spec: Value, environment: Environment<'_>) -> (Value, FieldErrors) {
    let mut resolver = Resolver {
        environment,
        wrong: FieldErrors::default(),
    };
    let resolved = resolver.value("", spec);
    (resolved, resolver.wrong)
}

struct Resolver<'a> {
    environment: Environment<'a>,
    wrong: FieldErrors,
}

impl Resolver<'_> {
    fn value(&mut self, field: &str, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(field, &text),
            Value::Array(items) => self.array(field, items),
            Value::Object(map) => self.object(field, map),
            other => other,
        }
    }

    fn text(&mut self, field: &str, text: &str) -> Value {
        match expand(text, self.environment) {
            Ok(text) => Value::String(text),
            Err(message) => {
                self.wrong.push(field, message);
                Value::Null
            }
        }
    }

    fn array(&mut self, field: &str, items: Vec<Value>) -> Value {
        let items = items.into_iter().enumerate();
        items
            .map(|(i, item)| self.value(&format!("{field}[{i}]"), item))
            .collect()
    }

    fn object(&mut self, field: &str, map: Map<String, Value>) -> Value {
        let mut resolved = Map::new();
        for (key, value) in map {
            let field = if field.is_empty() {
                key.clone()
            } else {
                format!("{field}.{key}")
            };
            resolved.insert(key, self.value(&field, value));
        }
        Value::Object(resolved)
    }
}

fn expand(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, reference) = rest.split_at(start);
        if let Some(literal) = before.strip_suffix('$') {
            expanded.push_str(literal);
            expanded.push_str("${");
            rest = &reference[2..];
            continue;
        }
        let (name, after) = variable(reference)?;
        let value = environment(name).ok_or(format!("the environment has no {name}"))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn variable(reference: &str) -> Result<(&str, &str), String> {
    let named = reference[2..]
        .split_once('}')
        .filter(|(name, _)| is_name(name));
    named.ok_or_else(|| "`${` must begin a `${NAME}`; write `$${` for the text itself".to_owned())
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn environment(name: &str) -> Option<String> {
        match name {
            "TAG" => Some("1.4".to_owned()),
            "NESTED" => Some("${TAG}".to_owned()),
            _ => None,
        }
    }

    fn resolved(spec: Value) -> Result<Value, String> {
        let (resolved, wrong) = resolve(spec, &environment);
        wrong
            .into_result(resolved)
            .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn variables_are_replaced_inside_strings_and_stay_strings() {
        let spec = json!({
            "image": "acme:${TAG}-${TAG}", "port": 80,
            "env": { "A": "${TAG}", "B": "${NESTED}" }, "args": ["$${TAG}", "$HOME"]
        });
        let sent = json!({
            "image": "acme:1.4-1.4", "port": 80,
            "env": { "A": "1.4", "B": "${TAG}" }, "args": ["${TAG}", "$HOME"]
        });
        assert_eq!(resolved(spec).unwrap(), sent);
    }

    #[test]
    fn every_reference_that_leads_nowhere_is_named() {
        let spec = json!({ "args": ["ok", "${", "${1}"], "env": { "A": "${NO}" } });
        let wrong = resolved(spec).unwrap_err();
        let lines: Vec<_> = wrong.lines().collect();
        assert!(lines[0].starts_with("args[1]: `${` must begin"));
        assert!(lines[1].starts_with("args[2]: `${` must begin"));
        assert_eq!(lines[2], "env.A: the environment has no NO");
    }
}
