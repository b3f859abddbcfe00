//! From files to specifications that are ready to be sent.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document;
use super::resolve::{Environment, resolve};

/// One specification and where the user wrote it.
#[derive(Debug)]
pub(crate) struct Source {
    /// File and deployment, as in `prod.yaml: deployment sdxl`.
    pub(crate) place: String,
    /// The deployment's name, where it has one.
    pub(crate) name: Option<String>,
    /// What is sent.
    pub(crate) spec: Value,
    /// The fields that are known to be wrong before anything is sent.
    pub(crate) wrong: Vec<String>,
}

/// What files hold, and what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The specifications, in their order.
    pub(crate) sources: Vec<Source>,
    /// The mistakes, one line each.
    pub(crate) mistakes: Vec<String>,
}

/// Reads `files`, with every mistake of each.
pub(crate) fn read(files: &[PathBuf], environment: Environment<'_>) -> Files {
    let mut read = Files::default();
    for file in files {
        if let Err(mistake) = read.take(file, environment) {
            read.mistakes.push(mistake);
        }
    }
    read.note_repeated();
    read
}

impl Files {
    fn take(&mut self, file: &Path, environment: Environment<'_>) -> Result<(), String> {
        let label = if is_stdin(file) {
            "stdin".to_owned()
        } else {
            file.display().to_string()
        };
        let specs = text(file)
            .map_err(|error| error.to_string())
            .and_then(|text| document::split(file, &text))
            .map_err(|message| format!("{label}: {message}"))?;
        for (i, spec) in specs.into_iter().enumerate() {
            self.take_spec(&label, i, spec, environment);
        }
        Ok(())
    }

    fn take_spec(&mut self, label: &str, index: usize, spec: Value, environment: Environment<'_>) {
        let written = spec.get("name").and_then(Value::as_str);
        let called = written.map_or_else(|| format!("#{}", index + 1), str::to_owned);
        let place = format!("{label}: deployment {called}");
        if !spec.is_object() {
            let mistake = format!("{place}: must be a mapping with a name");
            return self.mistakes.push(mistake);
        }
        let (spec, unresolved) = resolve(spec, environment);
        let mut wrong = Vec::new();
        for mistake in unresolved {
            self.mistakes.push(format!("{place}: {mistake}"));
            wrong.push(mistake.field);
        }
        let name = spec.get("name").and_then(Value::as_str).map(str::to_owned);
        self.sources.push(Source {
            place,
            name,
            spec,
            wrong,
        });
    }

    fn note_repeated(&mut self) {
        let mut first: HashMap<String, String> = HashMap::new();
        for source in &mut self.sources {
            let Some(name) = &source.name else { continue };
            match first.get(name) {
                Some(taken) => {
                    let mistake = format!("{}: name: {name} is taken by {taken}", source.place);
                    self.mistakes.push(mistake);
                    source.wrong.push("name".to_owned());
                }
                None => drop(first.insert(name.clone(), source.place.clone())),
            }
        }
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
