use serde_json::{Value, json};
use thermocline_policy::{EnvValue, FieldErrors, Spec, is_dns_label};
use thermocline_wire::reader::{Mistakes, Object, text};
use thermocline_wire::rfc3339;

use super::Secret;
use crate::control::ControlPlane;
use crate::edit::EditError;

/// The largest value, bytes.
const LARGEST: usize = 64 * 1024;

impl ControlPlane {
    /// Every secret by name, without its value.
    pub(crate) fn secrets_json(&self) -> Vec<Value> {
        let all: Vec<(String, Secret)> = {
            let known = self.secrets.known();
            let each = known
                .iter()
                .map(|(name, secret)| (name.clone(), secret.clone()));
            each.collect()
        };
        let shown = all
            .iter()
            .map(|(name, secret)| self.secret_json(name, secret));
        shown.collect()
    }

    /// Sets a secret; what is shown of it, and whether it is new. Instances
    /// that exist keep the value that they were made with.
    ///
    /// # Errors
    /// [`EditError::Invalid`] for a name or a value that cannot be one, and the store's.
    pub(crate) async fn set_secret(
        &self,
        name: &str,
        document: &Value,
    ) -> Result<(Value, bool), EditError> {
        let value = read(name, document)?;
        let _one = self.editing.lock().await;
        let sealed = self.secrets.seal(name, &value).map_err(|error| {
            tracing::error!(%error, "a secret could not be sealed");
            EditError::Unsealable
        })?;
        let now = self.clock.wall_micros();
        let row = self.store.put_secret(name, &sealed, now).await?;
        self.secrets.redaction.hide(&value);
        let secret = Secret {
            value: value.into(),
            created_at: row.created_at,
            updated_at: row.updated_at,
        };
        let shown = self.secret_json(name, &secret);
        let before = self.secrets.known().insert(row.name, secret);
        let text = format!("secret {name} was set");
        self.events
            .tell("secret.set", None, &text, json!({ "secret": name }));
        Ok((shown, before.is_none()))
    }

    /// Removes a secret that no deployment names.
    ///
    /// # Errors
    /// [`EditError::NoSecret`], [`EditError::Conflict`] with who names it, and the store's.
    pub(crate) async fn delete_secret(&self, name: &str) -> Result<(), EditError> {
        let _one = self.editing.lock().await;
        if !self.secrets.has(name) {
            return Err(EditError::NoSecret);
        }
        let users = self.users_of(name);
        if !users.is_empty() {
            let detail = format!("{name} is used by {}", users.join(", "));
            return Err(EditError::Conflict(detail));
        }
        self.store.delete_secret(name).await?;
        self.secrets.known().remove(name);
        let text = format!("secret {name} was deleted");
        self.events
            .tell("secret.deleted", None, &text, json!({ "secret": name }));
        Ok(())
    }

    /// A mistake for each variable whose secret is not there.
    pub(crate) fn missing_secrets(&self, spec: &Spec) -> FieldErrors {
        let mut errors = FieldErrors::default();
        for (variable, name) in named(spec) {
            if !self.secrets.has(name) {
                let field = format!("env.{variable}.secret");
                errors.push(field, no_such_secret(name));
            }
        }
        errors
    }

    fn secret_json(&self, name: &str, secret: &Secret) -> Value {
        json!({
            "name": name,
            "created_at": rfc3339(secret.created_at),
            "updated_at": rfc3339(secret.updated_at),
            "used_by": self.users_of(name),
        })
    }

    /// The deployments that name a secret.
    fn users_of(&self, secret: &str) -> Vec<String> {
        let all = self.all().into_iter();
        let users = all.filter(|d| d.with_spec(|spec| named(spec).any(|(_, it)| it == secret)));
        users.map(|d| d.live.name.to_string()).collect()
    }
}

/// What a person is told who named one that is not there.
pub(crate) fn no_such_secret(name: &str) -> String {
    format!("there is no secret {name}; make it with `thermocline secret set {name}`")
}

/// The variables of a specification that are secrets, each with the secret's name.
pub(crate) fn named(spec: &Spec) -> impl Iterator<Item = (&str, &str)> {
    spec.env.iter().filter_map(|(variable, value)| match value {
        EnvValue::Secret(name) => Some((variable.as_str(), name.as_str())),
        EnvValue::Plain(_) => None,
    })
}

fn read(name: &str, document: &Value) -> Result<String, EditError> {
    let mistakes = Mistakes::default();
    if !is_dns_label(name) {
        let what = "must be a DNS label: 1 to 63 of a-z, 0-9 and -, not at an end";
        mistakes.borrow_mut().push("name", what);
    }
    let value = Object::root("", document, &mistakes).and_then(|object| {
        let value = object.read("value", value);
        if object.is_null("value") || !object.keys().any(|key| key == "value") {
            object.wrong("value", "is required");
        }
        object.finish();
        value
    });
    let read = mistakes.into_inner().into_result(value.unwrap_or_default());
    read.map_err(EditError::Invalid)
}

fn value(value: &Value) -> Result<String, String> {
    let value = text(value)?;
    if value.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if value.len() > LARGEST {
        return Err("may have 64 KiB".to_owned());
    }
    match value.contains('\0') {
        true => Err("must not contain NUL".to_owned()),
        false => Ok(value),
    }
}
