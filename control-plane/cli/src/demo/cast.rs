//! The deployments of the demo, and the traffic that each gets.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use thermocline_policy::format_duration;

use super::trace::Pattern;

/// The image of the tests, which `tests/images/build.sh` makes.
pub(crate) const LOCAL_IMAGE: &str = "thermocline-test-backend";
/// The provider's name in the configuration.
pub(crate) const CLOUD: &str = "sim";

/// A deployment and its traffic.
#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) name: &'static str,
    pub(crate) pattern: Pattern,
    pub(crate) spec: Value,
}

/// Time that runs `speed` times faster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(pub(crate) f64);

impl Pace {
    /// So many seconds, as a configuration writes them; a millisecond at least.
    pub(crate) fn seconds(self, seconds: f64) -> String {
        let millis = (seconds * 1000.0 / self.0).round().max(1.0);
        format_duration(Duration::from_millis(millis as u64))
    }
}

/// All of them. `own` is where the user's own backend is; `local` says whether
/// there is a Docker daemon with the image.
pub(crate) fn cast(pace: Pace, own: SocketAddr, local: bool) -> Vec<Role> {
    let mut cast = vec![
        role(
            "chat",
            both_tiers(pace),
            Pattern::OnOff {
                on: 30.0,
                off: 30.0,
                rps: 4.0,
            },
        ),
        role(
            "search",
            both_tiers(pace),
            Pattern::Bursty {
                every: 20.0,
                size: 12,
            },
        ),
        role("embed", both_tiers(pace), Pattern::Poisson { rps: 2.5 }),
        role(
            "report",
            json!({ "serverless": serverless(pace) }),
            Pattern::Rare { every: 25.0 },
        ),
        role(
            "vision",
            json!({ "dedicated": { "url": format!("http://{own}") } }),
            Pattern::Diurnal {
                day: 60.0,
                low: 0.2,
                high: 4.0,
            },
        ),
    ];
    if local {
        let tiers = json!({ "local": { "idle_timeout": "1m" } });
        cast.push(role("draw", tiers, Pattern::Poisson { rps: 0.7 }));
    }
    for role in &mut cast {
        role.spec["policy"] = policy(pace);
    }
    cast
}

fn role(name: &'static str, tiers: Value, pattern: Pattern) -> Role {
    let image = match tiers.get("local") {
        Some(_) => LOCAL_IMAGE,
        None => "demo/model",
    };
    let mut spec = json!({ "name": name, "tiers": tiers });
    if spec["tiers"].get("dedicated").is_none() {
        spec["image"] = json!(image);
    }
    Role {
        name,
        pattern,
        spec,
    }
}

fn both_tiers(pace: Pace) -> Value {
    let pod = json!({ "provider": CLOUD, "idle_timeout": pace.seconds(60.0) });
    json!({ "serverless": serverless(pace), "pod": pod })
}

fn serverless(pace: Pace) -> Value {
    json!({ "provider": CLOUD, "max_workers": 3, "idle_timeout": pace.seconds(5.0) })
}

/// A window that is short enough to see it work.
fn policy(pace: Pace) -> Value {
    json!({
        "window": pace.seconds(12.0),
        "promote_rps": 1.5 * pace.0,
        "demote_rps": 0.25 * pace.0,
    })
}

#[cfg(test)]
mod tests {
    use thermocline_policy::Defaults;
    use thermocline_wire::spec_from_json;

    use super::*;

    #[test]
    fn every_deployment_is_one_at_any_speed() {
        for speed in [0.1, 1.0, 10.0] {
            let own = SocketAddr::from(([127, 0, 0, 1], 9));
            for role in cast(Pace(speed), own, true) {
                let spec = spec_from_json(&role.spec, &Defaults::default());
                assert!(spec.is_ok(), "{} at {speed}: {spec:?}", role.name);
            }
        }
    }
}
