//! The rules of a specification that no single field shows.

use super::{Defaults, Load, Spec};
use crate::{FieldErrors, Tier};

impl Spec {
    /// Every rule that is broken, on a server with `defaults`.
    pub fn check(&self, defaults: &Defaults) -> FieldErrors {
        let mut errors = FieldErrors::default();
        self.check_names(&mut errors);
        self.check_tiers(&mut errors);
        self.check_policy(defaults, &mut errors);
        self.check_concurrency(&mut errors);
        self.check_fleet(&mut errors);
        errors
    }

    fn check_names(&self, errors: &mut FieldErrors) {
        if !is_dns_label(&self.name) {
            errors.push(
                "name",
                "must be a DNS label: 1 to 63 of a-z, 0-9 and -, not at an end",
            );
        }
        for (i, alias) in self.routes.aliases.iter().enumerate() {
            if alias.is_empty() || alias.len() > 253 || alias.contains(char::is_control) {
                errors.push(
                    format!("routes.aliases[{i}]"),
                    "must be 1 to 253 characters",
                );
            }
        }
    }

    fn check_tiers(&self, errors: &mut FieldErrors) {
        let tiers = self.tiers.set();
        if tiers.is_empty() {
            errors.push(
                "tiers",
                "must have one of dedicated, local, serverless, pod",
            );
        }
        let created = Tier::CREATED.into_iter().find(|tier| tiers.has(*tier));
        if let (Some(tier), None) = (created, &self.image) {
            errors.push("image", format!("is needed by tiers.{tier}"));
        }
        if let Some(pod) = &self.tiers.pod
            && pod.min_instances > pod.max_instances
        {
            errors.push(
                "tiers.pod.min_instances",
                format!("must be at most max_instances ({})", pod.max_instances),
            );
        }
        if let Some(forced) = &self.forced
            && !tiers.has(forced.tier)
        {
            errors.push(
                "forced.tier",
                format!("the deployment has no tier {}", forced.tier),
            );
        }
    }

    fn check_policy(&self, defaults: &Defaults, errors: &mut FieldErrors) {
        let thresholds = self.settings(defaults).thresholds;
        let (promote, demote) = (thresholds.promote_rps, thresholds.demote_rps);
        if promote <= 0.0 {
            errors.push("policy.promote_rps", "must be above 0");
        } else if demote >= promote {
            errors.push(
                "policy.demote_rps",
                format!("must be below promote_rps ({promote}): the room between them keeps a rate near one of them from moving back and forth"),
            );
        }
    }

    fn check_concurrency(&self, errors: &mut FieldErrors) {
        if self.concurrency.load == Load::Once {
            return;
        }
        let workers = self.concurrency.workers;
        for tier in [Tier::Local, Tier::Pod] {
            if let Some(most) = self.max_instances(tier)
                && workers > most
            {
                errors.push(
                    "concurrency.workers",
                    format!("load: per_worker needs {workers} instances, but tiers.{tier}.max_instances is {most}"),
                );
            }
        }
    }

    /// What only the shared fleet heeds is a mistake where nobody would.
    fn check_fleet(&self, errors: &mut FieldErrors) {
        if self.fleet().is_some() {
            return;
        }
        let options = self.tiers.serverless.as_ref().map(|tier| &tier.fleet);
        let given = options.map(|options| {
            [
                ("pinned", options.pinned),
                ("preemptible", options.preemptible),
                ("shape", options.shape.is_some()),
                ("max_attempts", options.max_attempts.is_some()),
            ]
        });
        for (field, _) in given.into_iter().flatten().filter(|(_, given)| *given) {
            errors.push(
                format!("tiers.serverless.{field}"),
                "is for tiers.serverless.provider: fleet alone",
            );
        }
        if self.concurrency.restart_on_error {
            errors.push(
                "concurrency.restart_on_error",
                "is for tiers.serverless.provider: fleet alone",
            );
        }
    }
}

/// Whether `text` is a DNS label: 1 to 63 of `a-z`, `0-9`, `-`, not at an end.
pub fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{DedicatedTier, FLEET, FleetOptions, PodTier, ServerlessTier};

    fn dedicated(name: &str) -> Spec {
        let mut spec = Spec::named(name);
        spec.tiers.dedicated = Some(DedicatedTier {
            url: "http://127.0.0.1:1".into(),
            host: None,
        });
        spec
    }

    fn with_pod(min_instances: u32, max_instances: u32) -> Spec {
        let mut spec = dedicated("m");
        spec.image = Some("i".into());
        spec.tiers.pod = Some(PodTier {
            provider: "toy".into(),
            gpu: vec![],
            min_instances,
            max_instances,
            idle_timeout: Duration::from_secs(600),
            host: None,
        });
        spec
    }

    fn bad_fields(spec: &Spec) -> Vec<String> {
        spec.check(&Defaults::default())
            .into_iter()
            .map(|e| e.field)
            .collect()
    }

    #[test]
    fn b36_names_are_dns_labels() {
        for name in [
            "",
            "a/b",
            "..",
            &"x".repeat(300),
            "A",
            "-a",
            "a-",
            "a b",
            "ä",
        ] {
            assert_eq!(bad_fields(&dedicated(name)), ["name"], "{name:?}");
        }
        for name in ["a", "a-b", "0", &"x".repeat(63)] {
            assert!(bad_fields(&dedicated(name)).is_empty(), "{name:?}");
        }
    }

    #[test]
    fn b36_thresholds_must_leave_room() {
        for (promote, demote, field) in [
            (2.0, 2.0, "policy.demote_rps"),
            (1.0, 2.0, "policy.demote_rps"),
            (0.0, 0.0, "policy.promote_rps"),
        ] {
            let mut spec = dedicated("m");
            spec.policy.promote_rps = Some(promote);
            spec.policy.demote_rps = Some(demote);
            assert_eq!(bad_fields(&spec), [field]);
        }
    }

    #[test]
    fn a_threshold_is_compared_with_the_inherited_other() {
        let mut spec = dedicated("m");
        spec.policy.promote_rps = Some(0.05); // the server's demote_rps is 0.05
        assert_eq!(bad_fields(&spec), ["policy.demote_rps"]);
    }

    #[test]
    fn b36_min_above_max_is_refused() {
        assert_eq!(bad_fields(&with_pod(3, 2)), ["tiers.pod.min_instances"]);
        assert!(bad_fields(&with_pod(2, 2)).is_empty());
    }

    #[test]
    fn every_mistake_is_listed() {
        let mut spec = with_pod(3, 2);
        spec.name = "A".into();
        spec.image = None;
        assert_eq!(
            bad_fields(&spec),
            ["name", "image", "tiers.pod.min_instances"]
        );
    }

    #[test]
    fn what_only_the_fleet_heeds_is_refused_elsewhere() {
        let mut spec = Spec::named("m");
        spec.image = Some("i".into());
        spec.concurrency.restart_on_error = true;
        spec.tiers.serverless = Some(ServerlessTier {
            provider: "toy".into(),
            gpu: vec![],
            max_workers: 3,
            idle_timeout: Duration::from_secs(30),
            queue_delay: Duration::from_secs(4),
            host: None,
            fleet: FleetOptions {
                pinned: true,
                max_attempts: Some(2),
                ..FleetOptions::default()
            },
        });
        assert_eq!(
            bad_fields(&spec),
            [
                "tiers.serverless.pinned",
                "tiers.serverless.max_attempts",
                "concurrency.restart_on_error"
            ]
        );
        spec.tiers.serverless.as_mut().unwrap().provider = FLEET.into();
        assert!(bad_fields(&spec).is_empty());
    }

    #[test]
    fn per_worker_needs_as_many_instances() {
        let mut spec = with_pod(0, 2);
        spec.concurrency.load = Load::PerWorker;
        spec.concurrency.workers = 3;
        assert_eq!(bad_fields(&spec), ["concurrency.workers"]);
    }
}
