//! From files to specifications that are ready to be sent.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document;
use super::resolve::{Environment, resolve};
use crate::failure::Failure;

/// One specification and where the user wrote it.
#[derive(Debug)]
pub(crate) struct Source {
    /// File and deployment, as in `prod.yaml: deployment sdxl`.
    pub(crate) place: String,
    /// The deployment's name, where it has one.
    pub(crate) name: Option<String>,
    /// What is sent.
    pub(crate) spec: Value,
}

/// The specifications of `files`, in their order.
///
/// # Errors
/// Usage, with every mistake of every file.
pub(crate) fn read(
    files: &[PathBuf],
    environment: Environment<'_>,
) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    let mut wrong = Vec::new();
    for file in files {
        match file_sources(file, environment) {
            Ok(read) => sources.extend(read),
            Err(lines) => wrong.extend(lines),
        }
    }
    wrong.extend(repeated(&sources));
    if wrong.is_empty() {
        Ok(sources)
    } else {
        Err(Failure::usage(wrong))
    }
}

fn file_sources(file: &Path, environment: Environment<'_>) -> Result<Vec<Source>, Vec<String>> {
    let label = if is_stdin(file) {
        "stdin".to_owned()
    } else {
        file.display().to_string()
    };
    let specs = text(file)
        .map_err(|error| error.to_string())
        .and_then(|text| document::split(file, &text))
        .map_err(|message| vec![format!("{label}: {message}")])?;
    let mut sources = Vec::new();
    let mut wrong = Vec::new();
    for (i, spec) in specs.into_iter().enumerate() {
        match source(&label, i, spec, environment) {
            Ok(source) => sources.push(source),
            Err(lines) => wrong.extend(lines),
        }
    }
    if wrong.is_empty() {
        Ok(sources)
    } else {
        Err(wrong)
    }
}

fn text(file: &Path) -> io::Result<String> {
    if !is_stdin(file) {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map(|_| text)
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn source(
    label: &str,
    index: usize,
    spec: Value,
    environment: Environment<'_>,
) -> Result<Source, Vec<String>> {
    let written = spec.get("name").and_then(Value::as_str);
    let called = written.map_or_else(|| format!("#{}", index + 1), str::to_owned);
    let place = format!("{label}: deployment {called}");
    if !spec.is_object() {
        return Err(vec![format!("{place}: must be a mapping with a name")]);
    }
    let spec = resolve(spec, environment).map_err(|wrong| {
        wrong
            .into_iter()
            .map(|w| format!("{place}: {w}"))
            .collect::<Vec<_>>()
    })?;
    let name = spec.get("name").and_then(Value::as_str).map(str::to_owned);
    Ok(Source { place, name, spec })
}

fn repeated(sources: &[Source]) -> Vec<String> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let mut wrong = Vec::new();
    for source in sources {
        let Some(name) = &source.name else { continue };
        if let Some(place) = first.get(name.as_str()) {
            wrong.push(format!(
                "{}: name: {name} is taken by {place}",
                source.place
            ));
        } else {
            first.insert(name, &source.place);
        }
    }
    wrong
}
