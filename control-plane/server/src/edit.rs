//! What people change: written down, then in force before they are answered.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use thermocline_policy::{FieldErrors, Forced, Spec, Tier};
use thermocline_store::{DeploymentRow, NewDeployment, StoreError};
use thermocline_wire::{forced_to_json, spec_from_json, spec_to_json};
use thiserror::Error;

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::provider::name_for;

/// A change that was not made; nothing of it was stored.
#[derive(Debug, Error)]
pub(crate) enum EditError {
    #[error("the specification is not valid")]
    Invalid(FieldErrors),
    #[error("a deployment of that name exists")]
    Exists,
    #[error("no such deployment")]
    NotFound,
    #[error("{0}")]
    Conflict(String),
    #[error("the store cannot be written")]
    Store(#[source] StoreError),
}

impl From<StoreError> for EditError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exists(_) => EditError::Exists,
            StoreError::NotFound(_) => EditError::NotFound,
            StoreError::Deleting(name) => EditError::Conflict(format!("{name} is being torn down")),
            StoreError::GenerationChanged { .. } => {
                EditError::Conflict("it was changed meanwhile".to_owned())
            }
            other => EditError::Store(other),
        }
    }
}

/// What became, or would become, of one specification.
pub(crate) struct Edited {
    pub(crate) name: String,
    pub(crate) created: bool,
    pub(crate) generation: i64,
    pub(crate) changes: Vec<String>,
}

impl ControlPlane {
    /// Creates one deployment.
    pub(crate) async fn create(
        self: &Arc<Self>,
        document: &Value,
    ) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let spec = self
            .read_all(std::slice::from_ref(document), |_, field| field)?
            .remove(0);
        if self.deployment(&spec.name).is_some() {
            return Err(EditError::Exists);
        }
        let new = [stored(&spec)];
        let row = self
            .store
            .create_deployments(&new, self.clock.wall_micros())
            .await?
            .remove(0);
        Ok(self.put_in_force(row, spec, true))
    }

    /// Creates or replaces one deployment; whether it was created.
    pub(crate) async fn put(
        self: &Arc<Self>,
        name: &str,
        document: &Value,
    ) -> Result<(Arc<Controlled>, bool), EditError> {
        let _one = self.editing.lock().await;
        let document = named(document, name)?;
        let spec = self.read_all(&[document], |_, field| field)?.remove(0);
        let new = [stored(&spec)];
        let rows = self
            .store
            .put_deployments(&new, self.clock.wall_micros())
            .await?;
        let mut written = rows.into_iter();
        let (row, created) = written.next().ok_or(EditError::NotFound)?;
        Ok((self.put_in_force(row, spec, created), created))
    }

    /// Creates or replaces all of `documents`, or none; a dry run only says what it would do.
    pub(crate) async fn put_all(
        self: &Arc<Self>,
        documents: &[Value],
        dry_run: bool,
    ) -> Result<Vec<Edited>, EditError> {
        let _one = self.editing.lock().await;
        let specs = self.read_all(documents, |i, field| format!("items[{i}].{field}"))?;
        let mut edited: Vec<Edited> = specs.iter().map(|spec| self.compare(spec)).collect();
        if dry_run {
            return Ok(edited);
        }
        let new: Vec<NewDeployment> = specs.iter().map(stored).collect();
        let rows = self
            .store
            .put_deployments(&new, self.clock.wall_micros())
            .await?;
        for (((row, created), spec), edited) in rows.into_iter().zip(specs).zip(&mut edited) {
            edited.generation = row.generation;
            self.put_in_force(row, spec, created);
        }
        Ok(edited)
    }

    /// Applies a JSON merge patch (RFC 7396) to the stored specification.
    pub(crate) async fn patch(
        self: &Arc<Self>,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let deployment = self.deployment(name).ok_or(EditError::NotFound)?;
        let mut document = deployment.with_spec(spec_to_json);
        merge(&mut document, patch);
        let document = named(&document, name)?;
        self.replace(name, &document).await
    }

    /// Forces a tier, or stops forcing.
    pub(crate) async fn force(
        self: &Arc<Self>,
        name: &str,
        forced: Option<Forced>,
    ) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let deployment = self.deployment(name).ok_or(EditError::NotFound)?;
        if let Some(forced) = &forced
            && !deployment.with_spec(|spec| spec.tiers.set().has(forced.tier))
        {
            let detail = format!("{name} has no tier {}", forced.tier);
            return Err(EditError::Conflict(detail));
        }
        let mut document = deployment.with_spec(spec_to_json);
        document["forced"] = forced.as_ref().map_or(Value::Null, forced_to_json);
        self.replace(name, &document).await
    }

    async fn replace(
        self: &Arc<Self>,
        name: &str,
        document: &Value,
    ) -> Result<Arc<Controlled>, EditError> {
        let spec = self
            .read_all(std::slice::from_ref(document), |_, field| field)?
            .remove(0);
        let text = spec_to_json(&spec).to_string();
        let now = self.clock.wall_micros();
        let row = self.store.update_spec(name, None, &text, now).await?;
        Ok(self.put_in_force(row, spec, false))
    }

    /// Puts a deployment to sleep, or lets it wake.
    pub(crate) async fn set_stopped(
        self: &Arc<Self>,
        name: &str,
        stopped: bool,
    ) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let deployment = self.deployment(name).ok_or(EditError::NotFound)?;
        if deployment.row().stopped == stopped {
            return Ok(deployment);
        }
        let row = self
            .store
            .set_stopped(name, stopped, self.clock.wall_micros())
            .await?;
        let spec = deployment.with_spec(Spec::clone);
        let what = if stopped {
            "stopped by a person"
        } else {
            "woken by a person"
        };
        let kind = if stopped {
            "deployment.stopped"
        } else {
            "deployment.woken"
        };
        let deployment = self.in_force(row, spec);
        self.events.tell(kind, Some(name), what, json!({}));
        Ok(deployment)
    }

    /// Begins to tear a deployment down.
    pub(crate) async fn delete(self: &Arc<Self>, name: &str) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let deployment = self.deployment(name).ok_or(EditError::NotFound)?;
        if deployment.row().deleting {
            return Ok(deployment);
        }
        let row = self
            .store
            .set_deleting(name, self.clock.wall_micros())
            .await?;
        let spec = deployment.with_spec(Spec::clone);
        let deployment = self.in_force(row, spec);
        self.events.tell(
            "deployment.deleting",
            Some(name),
            "to be torn down",
            json!({}),
        );
        Ok(deployment)
    }

    /// Reads specifications that are to be written together.
    fn read_all(
        &self,
        documents: &[Value],
        place: impl Fn(usize, String) -> String,
    ) -> Result<Vec<Spec>, EditError> {
        let mut errors = FieldErrors::default();
        let mut specs: Vec<Spec> = Vec::new();
        for (i, document) in documents.iter().enumerate() {
            let read = spec_from_json(document, &self.defaults);
            let mut found = match read {
                Ok(spec) => {
                    let found = self.check_against_others(&spec, &specs);
                    specs.push(spec);
                    found
                }
                Err(found) => found,
            };
            let moved = std::mem::take(&mut found).into_iter().map(|mut error| {
                error.field = place(i, error.field);
                error
            });
            errors.extend(moved);
        }
        errors.into_result(specs).map_err(EditError::Invalid)
    }

    /// The rules that no single specification shows.
    fn check_against_others(&self, spec: &Spec, with: &[Spec]) -> FieldErrors {
        let mut errors = FieldErrors::default();
        if with.iter().any(|other| other.name == spec.name) {
            errors.push("name", "is given twice");
        }
        for tier in [Tier::Serverless, Tier::Pod] {
            let Some(name) = name_for(spec, tier) else {
                continue;
            };
            if !self.providers.contains_key(name) || name == crate::provider::DOCKER {
                let names: Vec<&str> = self.cloud_names().collect();
                let known = if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                };
                let field = format!("tiers.{tier}.provider");
                errors.push(field, format!("is not configured; configured: {known}"));
            }
        }
        let taken = self.taken_names(spec, with);
        for (i, host) in spec.routes.hosts.iter().enumerate() {
            if let Some(by) = taken.get(host.as_str()) {
                errors.push(format!("routes.hosts[{i}]"), format!("is taken by {by}"));
            }
        }
        for (i, alias) in spec.routes.aliases.iter().enumerate() {
            if let Some(by) = taken.get(alias.as_str()) {
                errors.push(format!("routes.aliases[{i}]"), format!("is taken by {by}"));
            }
        }
        if let Some(by) = taken.get(spec.name.as_str()) {
            errors.push("name", format!("is an alias of {by}"));
        }
        errors
    }

    fn cloud_names(&self) -> impl Iterator<Item = &str> {
        let names = self.providers.keys().map(String::as_str);
        names.filter(|name| *name != crate::provider::DOCKER)
    }

    /// The hosts and names that other deployments have, and whose they are.
    fn taken_names(&self, spec: &Spec, with: &[Spec]) -> HashMap<String, String> {
        let mut taken = HashMap::new();
        let mut take = |other: &Spec| {
            if other.name == spec.name {
                return;
            }
            let names = other.routes.hosts.iter().chain(&other.routes.aliases);
            for name in names.chain([&other.name]) {
                taken.insert(name.clone(), other.name.clone());
            }
        };
        with.iter().for_each(&mut take);
        for deployment in self.all() {
            deployment.with_spec(&mut take);
        }
        taken
    }

    fn compare(&self, spec: &Spec) -> Edited {
        let before = self
            .deployment(&spec.name)
            .map(|d| d.with_spec(spec_to_json));
        let mut changes = Vec::new();
        if let Some(before) = &before {
            differences("", before, &spec_to_json(spec), &mut changes);
        }
        let generation = self
            .deployment(&spec.name)
            .map_or(0, |d| d.row().generation);
        Edited {
            name: spec.name.clone(),
            generation: generation + i64::from(before.is_none() || !changes.is_empty()),
            created: before.is_none(),
            changes,
        }
    }

    fn put_in_force(
        self: &Arc<Self>,
        row: DeploymentRow,
        spec: Spec,
        created: bool,
    ) -> Arc<Controlled> {
        let (kind, text) = match created {
            true => ("deployment.created", "created"),
            false => ("deployment.updated", "updated"),
        };
        let name = row.name.clone();
        let body = json!({ "generation": row.generation });
        let deployment = self.in_force(row, spec);
        self.events.tell(kind, Some(&name), text, body);
        deployment
    }

    /// Makes both planes obey a row just written.
    fn in_force(self: &Arc<Self>, row: DeploymentRow, spec: Spec) -> Arc<Controlled> {
        let deployment = match self.deployment(&row.name) {
            Some(deployment) => {
                deployment.live.reconfigure(self.table_config(&row, spec));
                deployment.set_row(row);
                deployment
            }
            None => self.add(row, spec),
        };
        self.publish(&deployment);
        self.publish_table();
        deployment.bump();
        self.nudge(&deployment);
        deployment
    }
}

fn stored(spec: &Spec) -> NewDeployment {
    NewDeployment {
        name: spec.name.clone(),
        spec: spec_to_json(spec).to_string(),
    }
}

/// The document with `name` filled in; another name in it is a mistake.
fn named(document: &Value, name: &str) -> Result<Value, EditError> {
    let mut document = document.clone();
    let Some(map) = document.as_object_mut() else {
        return Ok(document); // the reader says what it should be
    };
    match map.get("name") {
        None | Some(Value::Null) => drop(map.insert("name".to_owned(), json!(name))),
        Some(there) if there == name => {}
        Some(_) => {
            let mut errors = FieldErrors::default();
            errors.push("name", format!("must be {name}, as in the path"));
            return Err(EditError::Invalid(errors));
        }
    }
    Ok(document)
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        for (key, value) in patch {
            match value {
                Value::Null => drop(target.remove(key)),
                value => merge(target.entry(key.clone()).or_insert(Value::Null), value),
            }
        }
    }
}

/// One line for each field that differs.
fn differences(path: &str, before: &Value, after: &Value, out: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Value::Object(a), Value::Object(b)) = (before, after) {
        let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
            differences(&path, &of(a), &of(b), out);
        }
        return;
    }
    out.push(format!("{path}: {before} → {after}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_sets_and_removes() {
        let mut target = json!({ "a": { "b": 1, "c": 2 }, "d": 3 });
        merge(
            &mut target,
            &json!({ "a": { "b": null, "e": 4 }, "d": [1] }),
        );
        assert_eq!(target, json!({ "a": { "c": 2, "e": 4 }, "d": [1] }));
    }

    #[test]
    fn differences_name_each_field() {
        let mut out = Vec::new();
        let before = json!({ "policy": { "promote_rps": 1 }, "image": "a" });
        let after = json!({ "policy": { "promote_rps": 2 }, "image": "a", "port": 80 });
        differences("", &before, &after, &mut out);
        assert_eq!(out, ["policy.promote_rps: 1 → 2", "port: null → 80"]);
    }
}
