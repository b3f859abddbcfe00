//! Variables and files that the configuration names: a server needs them.

use serde_json::Value;

use super::layers::Document;

/// Keys that hold the name of a variable with a key, a token or a URL.
const VARIABLES: [&str; 3] = ["api_key_env", "token_env", "url_env"];
/// Keys that hold the path of a file with one.
const FILES: [&str; 3] = ["api_key_file", "token_file", "url_file"];

/// A line for each variable that is named and not set, and for each file that
/// is named and holds nothing.
pub(super) fn missing(
    document: &Document,
    is_set: impl Fn(&str) -> bool,
    is_filled: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut named = Vec::new();
    find(&document.value, "", &mut named);
    let mut lines = Vec::new();
    for (field, name) in named {
        let key = field.rsplit('.').next().unwrap_or(&field);
        let what = match VARIABLES.contains(&key) {
            true if is_set(name) => continue,
            true => format!("{name} is not set"),
            false if is_filled(name) => continue,
            false => "the file cannot be read, or is empty".to_owned(),
        };
        lines.push(format!("{}: {field}: {what}", document.origin(&field)));
    }
    lines
}

/// Every field that names one, by its path, and what it names.
fn find<'d>(value: &'d Value, path: &str, named: &mut Vec<(String, &'d str)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let field = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        let names = VARIABLES.contains(&&**key) || FILES.contains(&&**key);
        match value.as_str().filter(|_| names) {
            Some(name) => named.push((field, name)),
            None => find(value, &field, named),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::layers;
    use super::*;

    #[test]
    fn whatever_is_named_and_missing_is_told_at_once() {
        let environment = [
            ("THERMOCLINE_BROKER__URL_FILE", "nowhere"),
            ("THERMOCLINE_FLEET__WORKERS__A__TOKEN_ENV", "A"),
            ("THERMOCLINE_FLEET__WORKERS__B__TOKEN_ENV", "B"),
            ("THERMOCLINE_PROVIDERS__X__TOKEN_ENV", "X"),
            ("THERMOCLINE_SECRETS__KEY_FILE", "made-when-it-is-needed"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let document = layers::read(Path::new("absent.toml"), false, environment.into_iter());
        let lines = missing(&document.unwrap(), |name| name == "B", |_| false);
        assert_eq!(
            lines,
            [
                "THERMOCLINE_BROKER__URL_FILE: broker.url_file: the file cannot be read, or is empty",
                "THERMOCLINE_FLEET__WORKERS__A__TOKEN_ENV: fleet.workers.a.token_env: A is not set",
                "THERMOCLINE_PROVIDERS__X__TOKEN_ENV: providers.x.token_env: X is not set",
            ]
        );
    }
}
