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
    match read_spec(value, defaults) {
        (Some(spec), errors) => errors.into_result(spec),
        (None, errors) => Err(errors),
    }
}

/// What could be read of a specification, and every mistake in it: with mistakes
/// it is good for nothing but looking for more of them.
pub fn read_spec(value: &Value, defaults: &Defaults) -> (Option<Spec>, FieldErrors) {
    let mistakes = Mistakes::default();
    let spec = Object::root("", value, &mistakes).map(read::spec);
    let mut errors = mistakes.into_inner();
    if let Some(spec) = &spec {
        errors.add(spec.check(defaults));
    }
    (spec, errors)
}

#[cfg(test)]
mod tests;
