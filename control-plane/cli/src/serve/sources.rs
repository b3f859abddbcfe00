//! What variables and files that the configuration names hold: a server needs it.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::layers::Document;
use super::source::Source;

/// Keys that hold the name of a variable with a key, a token or a URL.
const VARIABLES: [&str; 3] = ["api_key_env", "token_env", "url_env"];
/// Keys that hold the path of a file with one.
const FILES: [&str; 3] = ["api_key_file", "token_file", "url_file"];
/// Where the credentials of workers are.
const WORKERS: &str = "fleet.workers.";
/// Where the admin token is, if a person chose it.
const ADMIN: &str = "THERMOCLINE_ADMIN_TOKEN";

/// A line for each variable and file that is named and holds nothing, and for each
/// worker whose token is another's, or the admin's: it would say neither whose it is
/// nor what it may do.
pub(super) fn mistakes(
    document: &Document,
    read: impl Fn(Source<'_>) -> Result<String, String>,
) -> Vec<String> {
    let mut named = Vec::new();
    find(&document.value, "", &mut named);
    let admin = read(Source::Variable(ADMIN)).into_iter();
    let mut owners: HashMap<String, String> =
        admin.map(|token| (token, ADMIN.to_owned())).collect();
    let mut lines = Vec::new();
    for (field, source) in named {
        let wrong = match read(source) {
            Ok(text) => worker(&field).and_then(|worker| {
                let other = owners.insert(text, format!("{WORKERS}{worker}"))?;
                Some(format!("its token is that of {other}"))
            }),
            Err(lack) => Some(lack),
        };
        lines.extend(wrong.map(|what| format!("{}: {field}: {what}", document.origin(&field))));
    }
    lines
}

/// The worker whose credential `field` is.
fn worker(field: &str) -> Option<&str> {
    let (worker, _) = field.strip_prefix(WORKERS)?.rsplit_once('.')?;
    Some(worker)
}

/// Every field that names a source, by its path.
fn find<'d>(value: &'d Value, path: &str, named: &mut Vec<(String, Source<'d>)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let field = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        match value.as_str().and_then(|name| source(key, name)) {
            Some(source) => named.push((field, source)),
            None => find(value, &field, named),
        }
    }
}

fn source<'d>(key: &str, name: &'d str) -> Option<Source<'d>> {
    if VARIABLES.contains(&key) {
        return Some(Source::Variable(name));
    }
    FILES.contains(&key).then(|| Source::File(Path::new(name)))
}

#[cfg(test)]
mod tests {
    use super::super::layers;
    use super::*;

    fn told(
        environment: &[(&str, &str)],
        read: impl Fn(Source<'_>) -> Result<String, String>,
    ) -> Vec<String> {
        let set = environment.iter();
        let set = set.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let document = layers::read(Path::new("absent.toml"), false, set);
        mistakes(&document.unwrap(), read)
    }

    #[test]
    fn whatever_is_named_and_missing_is_told_at_once() {
        let environment = [
            ("THERMOCLINE_BROKER__URL_FILE", "nowhere"),
            ("THERMOCLINE_FLEET__WORKERS__A__TOKEN_ENV", "A"),
            ("THERMOCLINE_FLEET__WORKERS__B__TOKEN_ENV", "B"),
            ("THERMOCLINE_PROVIDERS__X__TOKEN_ENV", "X"),
            ("THERMOCLINE_SECRETS__KEY_FILE", "made-when-it-is-needed"),
        ];
        let lines = told(&environment, |source| match source {
            Source::Variable("B") => Ok("b".to_owned()),
            Source::Variable(name) => Err(format!("no {name}")),
            Source::File(_) => Err("no file".to_owned()),
        });
        assert_eq!(
            lines,
            [
                "THERMOCLINE_BROKER__URL_FILE: broker.url_file: no file",
                "THERMOCLINE_FLEET__WORKERS__A__TOKEN_ENV: fleet.workers.a.token_env: no A",
                "THERMOCLINE_PROVIDERS__X__TOKEN_ENV: providers.x.token_env: no X",
            ]
        );
    }

    #[test]
    fn a_token_is_one_credential_s_alone() {
        let environment = [
            ("THERMOCLINE_FLEET__WORKERS__A__TOKEN_ENV", "A"),
            ("THERMOCLINE_FLEET__WORKERS__B__TOKEN_ENV", "B"),
            ("THERMOCLINE_PROVIDERS__X__TOKEN_ENV", "X"),
        ];
        let one = told(&environment, |source| match source {
            Source::Variable("THERMOCLINE_ADMIN_TOKEN") => Err("not set".to_owned()),
            _ => Ok("one".to_owned()),
        });
        let line = "THERMOCLINE_FLEET__WORKERS__B__TOKEN_ENV: fleet.workers.b.token_env: its token is that of fleet.workers.a";
        assert_eq!(one, [line]);
        let all = told(&environment, |_| Ok("one".to_owned()));
        let first = "THERMOCLINE_FLEET__WORKERS__A__TOKEN_ENV: fleet.workers.a.token_env: its token is that of THERMOCLINE_ADMIN_TOKEN";
        assert_eq!(all, [first, line]);
        let two = told(&environment, |source| Ok(format!("{source:?}")));
        assert!(two.is_empty(), "{two:?}");
    }
}
