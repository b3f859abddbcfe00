//! The environment of an instance: texts, and secrets by name.

use std::collections::BTreeMap;

use serde_json::Value;
use thermocline_policy::{EnvValue, is_dns_label};

use crate::reader::{Object, kind, text};

pub(super) fn env(object: Object<'_>) -> BTreeMap<String, EnvValue> {
    let mut env = BTreeMap::new();
    for (key, value) in object.entries() {
        if let Err(message) = variable(key) {
            object.wrong(key, message);
        } else if let Some(value) = env_value(&object, key, value) {
            env.insert(key.clone(), value);
        }
    }
    env
}

fn variable(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("a variable's name must not be empty or contain =");
    }
    if name.starts_with("LD_") || name.starts_with("NVIDIA_") {
        return Err("names that start with LD_ or NVIDIA_ are not for users");
    }
    Ok(())
}

fn env_value(env: &Object<'_>, key: &str, value: &Value) -> Option<EnvValue> {
    match value {
        Value::Object(_) => env.entry(key).and_then(secret),
        Value::String(text) if !text.contains('\0') => Some(EnvValue::Plain(text.clone())),
        Value::String(_) => {
            env.wrong(key, "must not contain NUL");
            None
        }
        other => {
            let is = kind(other);
            env.wrong(key, format!("must be a text or {{secret: NAME}}, is {is}"));
            None
        }
    }
}

fn secret(object: Object<'_>) -> Option<EnvValue> {
    let name = match object.value("secret").map(secret_name) {
        Some(Ok(name)) => Some(EnvValue::Secret(name)),
        Some(Err(message)) => {
            object.wrong("secret", message);
            None
        }
        None => {
            object.wrong("secret", "is required: the name of a secret");
            None
        }
    };
    object.finish();
    name
}

fn secret_name(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    match is_dns_label(&name) {
        true => Ok(name),
        false => {
            Err("must be the name of a secret: 1 to 63 of a-z, 0-9 and -, not at an end".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use thermocline_policy::Defaults;

    use super::*;
    use crate::spec_from_json;

    fn read(env: Value) -> Result<BTreeMap<String, EnvValue>, Vec<String>> {
        let tiers = json!({ "dedicated": { "url": "http://127.0.0.1:9000" } });
        let spec = json!({ "name": "m", "tiers": tiers, "env": env });
        match spec_from_json(&spec, &Defaults::default()) {
            Ok(spec) => Ok(spec.env),
            Err(errors) => Err(errors.into_iter().map(|e| e.to_string()).collect()),
        }
    }

    #[test]
    fn a_value_is_a_text_or_a_secret_by_name() {
        let env = read(json!({ "STEPS": "30", "HF_TOKEN": { "secret": "hf" } })).unwrap();
        assert_eq!(env["STEPS"], EnvValue::Plain("30".into()));
        assert_eq!(env["HF_TOKEN"], EnvValue::Secret("hf".into()));
    }

    #[test]
    fn a_secret_that_is_no_name_is_named_by_its_field_and_never_repeated() {
        for wrong in [
            json!({ "secret": "hf_Sentinel" }),
            json!({ "secret": 7 }),
            json!({ "secret": null }),
            json!({}),
        ] {
            let errors = read(json!({ "HF_TOKEN": wrong })).unwrap_err();
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert!(errors[0].starts_with("env.HF_TOKEN.secret: "), "{errors:?}");
            assert!(!errors[0].contains("Sentinel"), "{errors:?}");
        }
        let errors = read(json!({ "A": { "secret": "hf", "value": "x" }, "B": 7 })).unwrap_err();
        let expected = [
            "env.A.value: is not known here; allowed: secret",
            "env.B: must be a text or {secret: NAME}, is a number",
        ];
        assert_eq!(errors, expected);
    }
}
