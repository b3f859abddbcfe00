//! The deployment specification as YAML or JSON.

mod env;
mod read;
mod tiers;
mod write;

use serde_json::Value;
use thermocline_policy::{Defaults, FieldErrors, Forced, Spec};

use crate::reader::{Mistakes, Object};

pub use read::window as window_field;
pub use write::{forced as forced_to_json, spec_to_json};

/// Reads `{tier, until?}`.
///
/// # Errors
/// Every mistake in it.
pub fn forced_from_json(value: &Value) -> Result<Forced, FieldErrors> {
    let mistakes = Mistakes::default();
    let forced = Object::root("", value, &mistakes).and_then(read::forced);
    let errors = mistakes.into_inner();
    match forced {
        Some(forced) => errors.into_result(forced),
        None => Err(errors),
    }
}

/// Reads and checks a specification on a server with `defaults`.
///
/// # Errors
/// Every mistake in it, each with its field's path.
pub fn spec_from_json(value: &Value, defaults: &Defaults) -> Result<Spec, FieldErrors> {
    let mistakes = Mistakes::default();
    let spec = Object::root("", value, &mistakes).map(read::spec);
    let mut errors = mistakes.into_inner();
    let Some(spec) = spec else {
        return Err(errors);
    };
    let already: Vec<String> = errors.as_slice().iter().map(|e| e.field.clone()).collect();
    let broken = spec.check(defaults).into_iter();
    errors.extend(broken.filter(|e| !already.iter().any(|path| explains(path, &e.field))));
    errors.into_result(spec)
}

/// Whether a mistake at `path` already explains a broken rule at `field`.
fn explains(path: &str, field: &str) -> bool {
    path == field || path.starts_with(&format!("{field}."))
}

#[cfg(test)]
mod tests;
