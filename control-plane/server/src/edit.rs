//! What people change: written down, then in force before they are answered.

mod ability;
mod check;
mod document;

use std::sync::Arc;

use serde_json::{Value, json};
use thermocline_policy::{FieldErrors, Forced, Spec};
use thermocline_store::{DeploymentRow, NewDeployment, StoreError};
use thermocline_wire::{forced_to_json, spec_to_json};
use thiserror::Error;

pub(crate) use ability::Unchecked;

use crate::control::ControlPlane;
use crate::deployment::Controlled;
use crate::names::no_such;
use check::Examined;
use document::{differences, merge};

/// A change that was not made; nothing of it was stored.
#[derive(Debug, Error)]
pub(crate) enum EditError {
    #[error("the specification is not valid")]
    Invalid(FieldErrors),
    #[error("a deployment of that name exists")]
    Exists,
    #[error("{0}")]
    NotFound(String),
    #[error("no such secret")]
    NoSecret,
    #[error("{0}")]
    Conflict(String),
    #[error("the key of the secrets cannot be used")]
    Unsealable,
    #[error("the store cannot be written")]
    Store(#[source] StoreError),
}

impl From<StoreError> for EditError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exists(_) => EditError::Exists,
            StoreError::NotFound(name) => EditError::NotFound(no_such("deployment", &name, [])),
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
    pub(crate) unchecked: Unchecked,
}

impl ControlPlane {
    /// Writes what `read` says, once providers were asked about it, as it reads when
    /// nobody else writes. Their mistakes are told with all others.
    async fn edit<T>(
        &self,
        read: impl Fn() -> Result<Examined, EditError>,
        place: impl Fn(usize, String) -> String,
        write: impl AsyncFnOnce(Vec<Spec>, Vec<Unchecked>) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let Examined { specs, mut errors } = read()?;
        let (never, unchecked) = self.ask_providers(&specs, place).await;
        errors.add(never);
        let unchecked = errors.into_result(unchecked).map_err(EditError::Invalid)?;
        let _one = self.editing.lock().await;
        write(read()?.valid()?, unchecked).await
    }

    /// The same for one specification: the row that `write` writes is in force after it.
    async fn edit_one(
        self: &Arc<Self>,
        read: impl Fn() -> Result<Examined, EditError>,
        write: impl AsyncFnOnce(&Spec) -> Result<(DeploymentRow, bool), EditError>,
    ) -> Result<(Arc<Controlled>, bool), EditError> {
        let write = async |mut specs: Vec<Spec>, unchecked: Vec<Unchecked>| {
            let spec = specs.remove(0);
            let (row, created) = write(&spec).await?;
            let deployment = self.put_in_force(row, spec, created);
            deployment.set_unchecked(unchecked.concat());
            Ok((deployment, created))
        };
        self.edit(read, |_, field| field, write).await
    }

    /// Creates one deployment.
    pub(crate) async fn create(
        self: &Arc<Self>,
        document: &Value,
    ) -> Result<Arc<Controlled>, EditError> {
        let read = || {
            let one = std::slice::from_ref(document);
            Ok(self.read_all(one, |_, field| field))
        };
        let write = async |spec: &Spec| {
            if self.deployment(&spec.name).is_some() {
                return Err(EditError::Exists);
            }
            let now = self.clock.wall_micros();
            let mut rows = self.store.create_deployments(&[stored(spec)], now).await?;
            Ok((rows.pop().ok_or_else(|| unwritten(spec))?, true))
        };
        let (deployment, _) = self.edit_one(read, write).await?;
        Ok(deployment)
    }

    /// Creates or replaces one deployment; whether it was created.
    pub(crate) async fn put(
        self: &Arc<Self>,
        name: &str,
        document: &Value,
    ) -> Result<(Arc<Controlled>, bool), EditError> {
        let read = || Ok(self.read_named(&self.with_force(document, name), name));
        let write = async |spec: &Spec| {
            let now = self.clock.wall_micros();
            let mut rows = self.store.put_deployments(&[stored(spec)], now).await?;
            Ok(rows.pop().ok_or_else(|| unwritten(spec))?)
        };
        self.edit_one(read, write).await
    }

    /// Creates or replaces all of `documents`, or none; a dry run only says what it would do.
    pub(crate) async fn put_all(
        self: &Arc<Self>,
        documents: &[Value],
        dry_run: bool,
    ) -> Result<Vec<Edited>, EditError> {
        let place = |i, field| format!("items[{i}].{field}");
        let read = || {
            let named = documents.iter().map(|document| {
                let name = document["name"].as_str().unwrap_or_default();
                self.with_force(document, name)
            });
            Ok(self.read_all(&named.collect::<Vec<_>>(), place))
        };
        let write = async |specs: Vec<Spec>, unchecked: Vec<Unchecked>| {
            let mut edited: Vec<Edited> = specs.iter().map(|spec| self.compare(spec)).collect();
            for (edited, unchecked) in edited.iter_mut().zip(unchecked) {
                edited.unchecked = unchecked;
            }
            match dry_run {
                true => Ok(edited),
                false => self.write_all(specs, edited).await,
            }
        };
        self.edit(read, place, write).await
    }

    async fn write_all(
        self: &Arc<Self>,
        specs: Vec<Spec>,
        mut edited: Vec<Edited>,
    ) -> Result<Vec<Edited>, EditError> {
        let new: Vec<NewDeployment> = specs.iter().map(stored).collect();
        let now = self.clock.wall_micros();
        let rows = self.store.put_deployments(&new, now).await?;
        for (((row, created), spec), edited) in rows.into_iter().zip(specs).zip(&mut edited) {
            edited.generation = row.generation;
            let deployment = self.accept(row, spec, created);
            deployment.set_unchecked(edited.unchecked.clone());
        }
        self.publish_table();
        Ok(edited)
    }

    /// Applies a JSON merge patch (RFC 7396) to the stored specification.
    pub(crate) async fn patch(
        self: &Arc<Self>,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<Controlled>, EditError> {
        let read = || self.merged(name, patch);
        let write = async |spec: &Spec| Ok((self.update(name, spec).await?, false));
        let (deployment, _) = self.edit_one(read, write).await?;
        Ok(deployment)
    }

    /// What [`ControlPlane::patch`] would put in force.
    pub(crate) fn patched(&self, name: &str, patch: &Value) -> Result<Spec, EditError> {
        self.merged(name, patch)?.only()
    }

    fn merged(&self, name: &str, patch: &Value) -> Result<Examined, EditError> {
        let deployment = self
            .deployment(name)
            .ok_or_else(|| self.no_such_deployment(name))?;
        let mut document = deployment.with_spec(spec_to_json);
        merge(&mut document, patch);
        Ok(self.read_named(&document, name))
    }

    /// Forces a tier, or stops forcing.
    pub(crate) async fn force(
        self: &Arc<Self>,
        name: &str,
        forced: Option<Forced>,
    ) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let deployment = self
            .deployment(name)
            .ok_or_else(|| self.no_such_deployment(name))?;
        if let Some(forced) = &forced
            && !deployment.with_spec(|spec| spec.tiers.set().has(forced.tier))
        {
            let detail = format!("{name} has no tier {}", forced.tier);
            return Err(EditError::Conflict(detail));
        }
        let mut document = deployment.with_spec(spec_to_json);
        document["forced"] = forced.as_ref().map_or(Value::Null, forced_to_json);
        let spec = self.read_named(&document, name).only()?;
        let row = self.update(name, &spec).await?;
        Ok(self.put_in_force(row, spec, false))
    }

    async fn update(&self, name: &str, spec: &Spec) -> Result<DeploymentRow, EditError> {
        let text = spec_to_json(spec).to_string();
        let now = self.clock.wall_micros();
        Ok(self.store.update_spec(name, None, &text, now).await?)
    }

    /// Puts a deployment to sleep, or lets it wake.
    pub(crate) async fn set_stopped(
        self: &Arc<Self>,
        name: &str,
        stopped: bool,
    ) -> Result<Arc<Controlled>, EditError> {
        let _one = self.editing.lock().await;
        let deployment = self
            .deployment(name)
            .ok_or_else(|| self.no_such_deployment(name))?;
        let before = deployment.row();
        if before.deleting {
            let detail =
                format!("{name} is being torn down; it can be created anew once it is gone");
            return Err(EditError::Conflict(detail));
        }
        if before.stopped == stopped {
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
        let deployment = self
            .deployment(name)
            .ok_or_else(|| self.no_such_deployment(name))?;
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
            unchecked: Unchecked::new(),
        }
    }

    fn put_in_force(
        self: &Arc<Self>,
        row: DeploymentRow,
        spec: Spec,
        created: bool,
    ) -> Arc<Controlled> {
        let deployment = self.accept(row, spec, created);
        self.publish_table();
        deployment
    }

    /// Takes over a row just written, and tells of it where it says anything new;
    /// its names are known once the table is published, for many rows together only
    /// once.
    fn accept(self: &Arc<Self>, row: DeploymentRow, spec: Spec, created: bool) -> Arc<Controlled> {
        let (kind, text) = match created {
            true => ("deployment.created", "created"),
            false => ("deployment.updated", "updated"),
        };
        let (name, generation) = (row.name.clone(), row.generation);
        let before = self.deployment(&name);
        let is_news = before.is_none_or(|before| before.row().generation != generation);
        let deployment = self.in_force(row, spec);
        if is_news {
            let body = json!({ "generation": generation });
            self.events.tell(kind, Some(&name), text, body);
        }
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
        self.begin_books(&deployment);
        self.publish(&deployment);
        deployment.bump();
        self.nudge(&deployment);
        deployment
    }
}

/// A store that answers without the row that it was to write.
fn unwritten(spec: &Spec) -> StoreError {
    StoreError::NotFound(spec.name.clone())
}

fn stored(spec: &Spec) -> NewDeployment {
    NewDeployment {
        name: spec.name.clone(),
        spec: spec_to_json(spec).to_string(),
    }
}
