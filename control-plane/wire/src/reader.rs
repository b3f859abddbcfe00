//! Reads a document field by field and remembers every mistake.
//!
//! A derived deserialiser stops at the first one; a person who wrote a file
//! wants them all, each with its path and what is allowed there.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Map, Value};
use thermocline_policy::{FieldErrors, QuantityError, parse_duration, parse_size};

/// The mistakes of one document, shared by the objects that are being read.
pub type Mistakes = RefCell<FieldErrors>;

/// One object of the document.
pub struct Object<'d> {
    path: String,
    map: &'d Map<String, Value>,
    known: RefCell<Vec<&'static str>>,
    mistakes: &'d Mistakes,
}

impl<'d> Object<'d> {
    /// The document itself, under `path` (empty for the root); `None`, with a
    /// mistake, when it is no object.
    pub fn root(path: &str, value: &'d Value, mistakes: &'d Mistakes) -> Option<Self> {
        let Value::Object(map) = value else {
            let message = format!("must be an object, is {}", kind(value));
            mistakes.borrow_mut().push(path_or_document(path), message);
            return None;
        };
        Some(Object {
            path: path.to_owned(),
            map,
            known: RefCell::new(Vec::new()),
            mistakes,
        })
    }

    /// Notes a mistake at `key`.
    pub fn wrong(&self, key: &str, message: impl Into<String>) {
        self.mistakes.borrow_mut().push(self.at(key), message);
    }

    /// The path of `key`.
    pub fn at(&self, key: &str) -> String {
        match self.path.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.path),
        }
    }

    /// The keys that are there.
    pub fn keys(&self) -> impl Iterator<Item = &'d String> {
        self.map.keys()
    }

    /// The value at `key`; null counts as left out.
    pub fn value(&self, key: &'static str) -> Option<&'d Value> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Whether `key` is there and null.
    pub fn is_null(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(Value::is_null)
    }

    /// What `read` makes of the value at `key`; its error becomes a mistake.
    pub fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'d Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.value(key)?;
        read(value).map_err(|message| self.wrong(key, message)).ok()
    }

    /// The object at `key`.
    pub fn object(&self, key: &'static str) -> Option<Object<'d>> {
        let value = self.value(key)?;
        Object::root(&self.at(key), value, self.mistakes)
    }

    /// The object at a key that is not a field but a name.
    pub fn entry(&self, key: &str) -> Option<Object<'d>> {
        let value = self.map.get(key)?;
        Object::root(&self.at(key), value, self.mistakes)
    }

    /// Every entry of a map whose keys are names.
    pub fn entries(&self) -> impl Iterator<Item = (&'d String, &'d Value)> {
        self.map.iter()
    }

    /// The text at `key`.
    pub fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, text)
    }

    /// The list of texts at `key`.
    pub fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        self.list(key, text)
    }

    /// The list at `key`, each item read by `read`.
    pub fn list<T>(
        &self,
        key: &'static str,
        read: impl Fn(&'d Value) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let Value::Array(items) = self.value(key)? else {
            self.wrong(key, "must be a list");
            return None;
        };
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            match read(item) {
                Ok(item) => out.push(item),
                Err(message) => self.wrong(&format!("{key}[{i}]"), message),
            }
        }
        Some(out)
    }

    /// The duration at `key`, zero allowed.
    pub fn duration(&self, key: &'static str) -> Option<Duration> {
        self.read(key, duration)
    }

    /// The duration at `key`, above zero.
    pub fn duration_above_zero(&self, key: &'static str) -> Option<Duration> {
        self.read(key, |value| match duration(value)? {
            Duration::ZERO => Err("must be above 0".to_owned()),
            duration => Ok(duration),
        })
    }

    /// The size in bytes at `key`; 0 may stand without a unit.
    pub fn size(&self, key: &'static str) -> Option<u64> {
        self.read(key, size)
    }

    /// The whole number at `key`, within `range`.
    pub fn whole(&self, key: &'static str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        self.read(key, |value| whole(value, range))
    }

    /// The finite number at `key`, 0 or more.
    pub fn number(&self, key: &'static str) -> Option<f64> {
        self.read(key, number)
    }

    /// The finite number at `key`, above 0.
    pub fn number_above_zero(&self, key: &'static str) -> Option<f64> {
        self.read(key, |value| match number(value) {
            Ok(number) if number > 0.0 => Ok(number),
            _ => Err("must be a finite number above 0".to_owned()),
        })
    }

    /// The yes or no at `key`.
    pub fn flag(&self, key: &'static str) -> Option<bool> {
        self.read(key, |value| {
            value
                .as_bool()
                .ok_or_else(|| format!("must be true or false, is {}", kind(value)))
        })
    }

    /// One of `choices` at `key`.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        self.read(key, |value| choice(value, choices))
    }

    /// Ends the reading: every key that nothing asked for is a mistake.
    pub fn finish(self) {
        let known = self.known.borrow();
        for key in self.map.keys() {
            if !known.contains(&key.as_str()) {
                let message = format!("is not known here; allowed: {}", known.join(", "));
                self.wrong(key, message);
            }
        }
    }
}

fn path_or_document(path: &str) -> &str {
    if path.is_empty() { "document" } else { path }
}

/// What a value is, in words.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a yes or no",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A text.
///
/// # Errors
/// What it is instead.
pub fn text(value: &Value) -> Result<String, String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("must be a text, is {}", kind(value)))
}

/// A duration with a unit.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn duration(value: &Value) -> Result<Duration, String> {
    const ALLOWED: &str = "allowed: a duration with a unit, as 500ms, 20s, 1m30s or 2h";
    match value {
        Value::String(text) => parse_duration(text).map_err(|e| format!("{e}; {ALLOWED}")),
        Value::Number(_) => Err(format!("{}; {ALLOWED}", QuantityError::NoUnit)),
        other => Err(format!("is {}; {ALLOWED}", kind(other))),
    }
}

/// A size in bytes, with a unit unless it is 0.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn size(value: &Value) -> Result<u64, String> {
    const ALLOWED: &str = "allowed: a size with a unit, as 512MiB, 11GiB or 24GB";
    match value {
        Value::String(text) => parse_size(text).map_err(|e| format!("{e}; {ALLOWED}")),
        Value::Number(n) if n.as_u64() == Some(0) => Ok(0),
        Value::Number(_) => Err(format!("{}; {ALLOWED}", QuantityError::NoUnit)),
        other => Err(format!("is {}; {ALLOWED}", kind(other))),
    }
}

/// A whole number within `range`.
///
/// # Errors
/// The range that is allowed.
pub fn whole(value: &Value, range: std::ops::RangeInclusive<u32>) -> Result<u32, String> {
    value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| range.contains(n))
        .ok_or_else(|| match *range.end() {
            u32::MAX => format!("must be a whole number from {}", range.start()),
            end => format!("must be a whole number from {} to {end}", range.start()),
        })
}

/// A finite number, 0 or more.
///
/// # Errors
/// What is allowed.
pub fn number(value: &Value) -> Result<f64, String> {
    value
        .as_f64()
        .filter(|n| n.is_finite() && *n >= 0.0)
        .ok_or_else(|| "must be a finite number, 0 or more".to_owned())
}

/// One of `choices`.
///
/// # Errors
/// The choices.
pub fn choice<T: Copy>(value: &Value, choices: &[(&str, T)]) -> Result<T, String> {
    let name = value.as_str().unwrap_or_default();
    let found = choices.iter().find(|(choice, _)| *choice == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        format!("must be one of {}", names.join(", "))
    })
}
