use serde_json::{Map, Value, json};
use thermocline_policy::FieldErrors;

/// The document of `name`; another name in it is a mistake.
pub(super) fn named(document: &Value, name: &str) -> (Value, FieldErrors) {
    let (mut document, mut errors) = (document.clone(), FieldErrors::default());
    if let Some(map) = document.as_object_mut() {
        let before = map.insert("name".to_owned(), json!(name));
        if before.is_some_and(|there| !there.is_null() && there != name) {
            errors.push("name", format!("must be {name}, as in the path"));
        }
    } // else the reader says what it should be
    (document, errors)
}

/// RFC 7396.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        for (key, value) in patch {
            match value {
                Value::Null => drop(target.remove(key)),
                value => merge(target.entry(key.clone()).or_insert(Value::Null), value),
            }
        }
    }
}

/// One line for each field that differs.
pub(super) fn differences(path: &str, before: &Value, after: &Value, out: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Value::Object(a), Value::Object(b)) = (before, after) {
        let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
            differences(&path, &of(a), &of(b), out);
        }
        return;
    }
    out.push(format!("{path}: {before} → {after}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_sets_and_removes() {
        let mut target = json!({ "a": { "b": 1, "c": 2 }, "d": 3 });
        merge(
            &mut target,
            &json!({ "a": { "b": null, "e": 4 }, "d": [1] }),
        );
        assert_eq!(target, json!({ "a": { "c": 2, "e": 4 }, "d": [1] }));
    }

    #[test]
    fn differences_name_each_field() {
        let mut out = Vec::new();
        let before = json!({ "policy": { "promote_rps": 1 }, "image": "a" });
        let after = json!({ "policy": { "promote_rps": 2 }, "image": "a", "port": 80 });
        differences("", &before, &after, &mut out);
        assert_eq!(out, ["policy.promote_rps: 1 → 2", "port: null → 80"]);
    }
}
