use std::fmt;

/// One field that cannot be accepted: which, and what is allowed there.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FieldError {
    /// The field's path, as in `tiers.pod.max_instances`.
    pub field: String,
    /// What is wrong and what is allowed, in one sentence.
    pub message: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Every mistake of one document, found in one pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// Adds a mistake.
    pub fn push(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError {
            field: field.into(),
            message: message.into(),
        });
    }

    /// The mistakes, in the order of the document.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.0
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what is wrong beside it, but for what a mistake that is there already
    /// explains: one of the same field, or of a field below it.
    pub fn add(&mut self, more: FieldErrors) {
        let explains = |known: &FieldError, field: &str| {
            let below = known.field.strip_prefix(field);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let known = self.0.len();
        for error in more {
            if !self.0[..known].iter().any(|it| explains(it, &error.field)) {
                self.0.push(error);
            }
        }
    }

    /// `value`, unless something is wrong.
    ///
    /// # Errors
    /// Itself, when it holds a mistake.
    pub fn into_result<T>(self, value: T) -> Result<T, FieldErrors> {
        if self.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

impl IntoIterator for FieldErrors {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FieldErrors {}
