use std::collections::{HashMap, HashSet};

use serde_json::Value;
use thermocline_policy::{FieldErrors, Forced, Spec, Tier};
use thermocline_wire::{forced_to_json, read_spec};

use super::EditError;
use super::document::named;
use crate::control::ControlPlane;
use crate::provider::{DOCKER, Registered, name_for};

/// Specifications as they were read, each with its place, and every mistake in them.
pub(super) struct Examined {
    pub(super) specs: Vec<(usize, Spec)>,
    pub(super) errors: FieldErrors,
}

impl Examined {
    /// All of them.
    ///
    /// # Errors
    /// [`EditError::Invalid`] where there is any mistake.
    pub(super) fn valid(self) -> Result<Vec<Spec>, EditError> {
        let specs = self.specs.into_iter().map(|(_, spec)| spec).collect();
        self.errors.into_result(specs).map_err(EditError::Invalid)
    }

    /// The one that was read.
    ///
    /// # Errors
    /// [`EditError::Invalid`] where there is any mistake.
    pub(super) fn only(self) -> Result<Spec, EditError> {
        Ok(self.valid()?.remove(0))
    }
}

impl ControlPlane {
    /// Reads specifications that are to be written together.
    pub(super) fn read_all(
        &self,
        documents: &[Value],
        place: impl Fn(usize, String) -> String,
    ) -> Examined {
        let mut errors = FieldErrors::default();
        let mut specs = Vec::new();
        let mut taken = self.taken_names();
        let mut given = HashSet::new();
        for (i, document) in documents.iter().enumerate() {
            let (spec, mut found) = read_spec(document, &self.defaults);
            if let Some(spec) = spec {
                found.add(self.check_against_others(&spec, &taken));
                if !spec.name.is_empty() && !given.insert(spec.name.clone()) {
                    found.push("name", "is given twice");
                }
                take_names(&mut taken, &spec);
                specs.push((i, spec));
            }
            let moved = found.into_iter().map(|mut error| {
                error.field = place(i, error.field);
                error
            });
            errors.extend(moved);
        }
        Examined { specs, errors }
    }

    /// Reads the specification that is to be written as that of `name`.
    pub(super) fn read_named(&self, document: &Value, name: &str) -> Examined {
        let (document, mut errors) = named(document, name);
        let read = self.read_all(&[document], |_, field| field);
        errors.add(read.errors);
        Examined { errors, ..read }
    }

    /// Refuses to force a tier until a time that has passed.
    pub(crate) fn check_until(&self, forced: &Forced, field: &str) -> Result<(), EditError> {
        let mut errors = FieldErrors::default();
        if self.is_over(forced) {
            errors.push(
                field,
                "is in the past; leave it out to force without an end",
            );
        }
        errors.into_result(()).map_err(EditError::Invalid)
    }

    /// The whole `document` of `name`: one that says nothing of a force leaves that
    /// which is in force, as far as it has its tier.
    pub(super) fn with_force(&self, document: &Value, name: &str) -> Value {
        let mut document = document.clone();
        let before = self.deployment(name);
        let forced = before.and_then(|it| it.with_spec(|spec| spec.forced.clone()));
        let forced = forced.filter(|forced| {
            let tier = &document["tiers"][forced.tier.as_str()];
            !tier.is_null() && !self.is_over(forced)
        });
        if let (Some(forced), Some(map)) = (forced, document.as_object_mut()) {
            map.entry("forced")
                .or_insert_with(|| forced_to_json(&forced));
        }
        document
    }

    fn is_over(&self, forced: &Forced) -> bool {
        forced
            .until
            .is_some_and(|at| at <= self.clock.wall_micros())
    }

    /// The rules that no single specification shows.
    fn check_against_others(&self, spec: &Spec, taken: &Taken) -> FieldErrors {
        let mut errors = FieldErrors::default();
        for tier in [Tier::Serverless, Tier::Pod] {
            let Some(name) = name_for(spec, tier) else {
                continue;
            };
            if let Some(mistake) = self.provider_mistake(name, tier) {
                errors.push(format!("tiers.{tier}.provider"), mistake);
            }
        }
        errors.extend(self.missing_secrets(spec));
        let before = self.deployment(&spec.name);
        let before = before.and_then(|d| d.with_spec(|spec| spec.forced.clone()));
        // One that ran out while it was in force is no mistake of this edit.
        if spec.forced != before && spec.forced.as_ref().is_some_and(|f| self.is_over(f)) {
            errors.push(
                "forced.until",
                "is in the past; leave it out to force without an end",
            );
        }
        let by_other = |name: &str| taken.get(name).filter(|by| **by != spec.name);
        for (i, host) in spec.routes.hosts.iter().enumerate() {
            if let Some(by) = by_other(host) {
                errors.push(format!("routes.hosts[{i}]"), format!("is taken by {by}"));
            }
        }
        for (i, alias) in spec.routes.aliases.iter().enumerate() {
            if let Some(by) = by_other(alias) {
                errors.push(format!("routes.aliases[{i}]"), format!("is taken by {by}"));
            }
        }
        if let Some(by) = by_other(&spec.name) {
            errors.push("name", format!("is an alias of {by}"));
        }
        errors
    }

    /// Why `tier` cannot come from the provider `name`, as far as is known.
    fn provider_mistake(&self, name: &str, tier: Tier) -> Option<String> {
        let clouds = || self.providers.values().filter(|it| it.name != DOCKER);
        let named = |those: Vec<&str>| match those.is_empty() {
            true => "none".to_owned(),
            false => those.join(", "),
        };
        let Some(provider) = clouds().find(|it| it.name == name) else {
            let all = clouds().map(|it| it.name.as_str()).collect();
            return Some(format!("is not configured; configured: {}", named(all)));
        };
        let sells = |it: &Registered| it.tiers().is_none_or(|tiers| tiers.contains(&tier));
        (!sells(provider)).then(|| {
            let those = clouds().filter(|it| sells(it)).map(|it| it.name.as_str());
            format!("sells no {tier}; these do: {}", named(those.collect()))
        })
    }

    fn taken_names(&self) -> Taken {
        let mut taken = Taken::new();
        for deployment in self.all() {
            deployment.with_spec(|spec| take_names(&mut taken, spec));
        }
        taken
    }
}

/// The hosts and names that deployments have, and whose they are.
type Taken = HashMap<String, String>;

/// Adds those of `spec`, unless somebody has them: that is a mistake of `spec`.
fn take_names(taken: &mut Taken, spec: &Spec) {
    let names = spec.routes.hosts.iter().chain(&spec.routes.aliases);
    for name in names.chain([&spec.name]) {
        let owner = taken.entry(name.clone());
        owner.or_insert_with(|| spec.name.clone());
    }
}
