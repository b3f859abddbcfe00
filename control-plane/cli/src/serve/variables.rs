//! Variables that the configuration names: a server needs them.

use super::layers::Document;

/// The keys of a provider that hold a variable's name.
const KEYS: [&str; 2] = ["token_env", "api_key_env"];

/// A line for each variable that is named and not set.
pub(super) fn unset(document: &Document, is_set: impl Fn(&str) -> bool) -> Vec<String> {
    let providers = document.value["providers"].as_object();
    let mut lines = Vec::new();
    for (name, provider) in providers.into_iter().flatten() {
        for key in KEYS {
            let variable = provider.get(key).and_then(|value| value.as_str());
            if let Some(variable) = variable.filter(|variable| !is_set(variable)) {
                let field = format!("providers.{name}.{key}");
                let origin = document.origin(&field);
                lines.push(format!("{origin}: {field}: {variable} is not set"));
            }
        }
    }
    lines
}
