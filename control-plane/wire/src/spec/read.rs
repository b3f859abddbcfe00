use chrono::{DateTime, Utc};
use regex::Regex;
use serde_json::Value;
use thermocline_policy::{
    Activity, Budget, ColdStart, Concurrency, Forced, Health, Limits, Live, Load, Objective,
    PolicyMode, PolicySpec, Protocol, Ready, Resources, Routes, Selection, Spec, Strategy, Tier,
};

use super::env::env;
use super::tiers::tiers;
use crate::reader::{Object, text, whole};

pub(super) fn spec(object: Object<'_>) -> Spec {
    let name = object.text("name").unwrap_or_else(|| {
        if object.value("name").is_none() {
            object.wrong("name", "is required");
        }
        String::new()
    });
    let defaults = Spec::named(name);
    let spec = Spec {
        image: object.read("image", image),
        command: object.texts("command").unwrap_or_default(),
        args: object.texts("args").unwrap_or_default(),
        port: port(&object, "port").unwrap_or(defaults.port),
        protocol: object
            .choice(
                "protocol",
                &[("http", Protocol::Http), ("openai", Protocol::Openai)],
            )
            .unwrap_or_default(),
        env: object.object("env").map(env).unwrap_or_default(),
        resources: object
            .object("resources")
            .map(resources)
            .unwrap_or_default(),
        health: object.object("health").map(health).unwrap_or_default(),
        tiers: object.object("tiers").map(tiers).unwrap_or_default(),
        policy: object.object("policy").map(policy).unwrap_or_default(),
        concurrency: object
            .object("concurrency")
            .map(concurrency)
            .unwrap_or_default(),
        cold_start: object
            .object("cold_start")
            .map(cold_start)
            .unwrap_or_default(),
        limits: object.object("limits").map(limits).unwrap_or_default(),
        objective: object.object("objective").and_then(objective),
        budget: object.object("budget").and_then(budget),
        routes: object.object("routes").map(routes).unwrap_or_default(),
        activity: object.object("activity").map(activity).unwrap_or_default(),
        forced: object.object("forced").and_then(forced),
        ..defaults
    };
    object.finish();
    spec
}

fn image(value: &Value) -> Result<String, String> {
    let image = text(value)?;
    let blank = image.is_empty() || image.contains(|c: char| c.is_whitespace() || c.is_control());
    match blank {
        true => Err("must be an image reference without spaces".to_owned()),
        false => Ok(image),
    }
}

pub(super) fn port(object: &Object<'_>, key: &'static str) -> Option<u16> {
    object.read(key, |value| {
        whole(value, 1..=65_535).map(|port| port as u16)
    })
}

fn resources(object: Object<'_>) -> Resources {
    let resources = Resources {
        vram: object.size("vram").unwrap_or(0),
        gpus: object.whole("gpus", 0..=1024).unwrap_or(0),
        cpus: object.number("cpus").unwrap_or(0.0),
        memory: object.size("memory").unwrap_or(0),
    };
    object.finish();
    resources
}

fn health(object: Object<'_>) -> Health {
    let defaults = Health::default();
    let health = Health {
        ready: object.object("ready").map(ready).unwrap_or_default(),
        start_timeout: object
            .duration_above_zero("start_timeout")
            .unwrap_or(defaults.start_timeout),
        live: object.object("live").map(live),
    };
    object.finish();
    health
}

fn ready(object: Object<'_>) -> Ready {
    let defaults = Ready::default();
    let status = |value: &Value| whole(value, 100..=599).map(|s| s as u16);
    let path = object.read("path", path);
    let named = path.is_some();
    let ready = Ready {
        path: path.unwrap_or(defaults.path),
        status: object.list("status", status).unwrap_or(if named {
            vec![200]
        } else {
            defaults.status
        }),
        initializing: object
            .list("initializing", status)
            .unwrap_or(defaults.initializing),
        successes: object
            .whole("successes", 1..=100)
            .unwrap_or(defaults.successes),
        interval: object
            .duration_above_zero("interval")
            .unwrap_or(defaults.interval),
    };
    object.finish();
    ready
}

fn live(object: Object<'_>) -> Live {
    let live = Live {
        path: object.read("path", path).unwrap_or_else(|| "/".to_owned()),
        interval: object
            .duration_above_zero("interval")
            .unwrap_or(std::time::Duration::from_secs(10)),
        failures: object.whole("failures", 1..=1000).unwrap_or(3),
    };
    object.finish();
    live
}

fn path(value: &Value) -> Result<String, String> {
    let path = text(value)?;
    let legal = path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    match legal {
        true => Ok(path),
        false => Err("must be a path that starts with /".to_owned()),
    }
}

fn policy(object: Object<'_>) -> PolicySpec {
    let policy = PolicySpec {
        mode: object.choice("mode", &PolicyMode::ALL.map(|mode| (mode.as_str(), mode))),
        window: window(&object),
        promote_rps: promote_rps(&object),
        demote_rps: object.number("demote_rps"),
        hold: object.duration("hold"),
    };
    object.finish();
    policy
}

/// What is wrong stands for nought: `demote_rps` is held against no default then.
fn promote_rps(object: &Object<'_>) -> Option<f64> {
    let promote_rps = object.number_above_zero("promote_rps");
    let is_there = object.value("promote_rps").is_some();
    promote_rps.or(is_there.then_some(0.0))
}

/// The window at `window`, 1 s to a day.
pub fn window(object: &Object<'_>) -> Option<std::time::Duration> {
    object.read("window", |value| {
        let window = crate::reader::duration(value)?;
        match (1..=86_400).contains(&window.as_secs()) {
            true => Ok(window),
            false => Err("must be from 1s to 24h".to_owned()),
        }
    })
}

fn concurrency(object: Object<'_>) -> Concurrency {
    let defaults = Concurrency::default();
    let concurrency = Concurrency {
        strategy: object
            .choice(
                "strategy",
                &[
                    ("shared", Strategy::Shared),
                    ("exclusive", Strategy::Exclusive),
                ],
            )
            .unwrap_or_default(),
        workers: object
            .whole("workers", 1..=4096)
            .unwrap_or(defaults.workers),
        load: object
            .choice(
                "load",
                &[("once", Load::Once), ("per_worker", Load::PerWorker)],
            )
            .unwrap_or_default(),
        selection: object
            .choice(
                "selection",
                &[
                    ("round_robin", Selection::RoundRobin),
                    ("least_loaded", Selection::LeastLoaded),
                ],
            )
            .unwrap_or_default(),
        max_concurrency: object.whole("max_concurrency", 1..=1_000_000),
        queue: object
            .whole("queue", 0..=1_000_000)
            .unwrap_or(defaults.queue),
        restart_on_error: object.flag("restart_on_error").unwrap_or(false),
    };
    object.finish();
    concurrency
}

fn cold_start(object: Object<'_>) -> ColdStart {
    let cold_start = ColdStart {
        max_wait: object.duration("max_wait"),
        max_pending: object.whole("max_pending", 0..=1_000_000),
    };
    object.finish();
    cold_start
}

fn limits(object: Object<'_>) -> Limits {
    let limits = Limits {
        deadline: object.duration_above_zero("deadline"),
        first_byte: object.duration_above_zero("first_byte"),
        idle: object.duration_above_zero("idle"),
        max_body: object.size("max_body"),
    };
    object.finish();
    limits
}

fn objective(object: Object<'_>) -> Option<Objective> {
    let p95 = object.duration_above_zero("p95");
    object.finish();
    p95.map(|p95| Objective { p95 })
}

fn budget(object: Object<'_>) -> Option<Budget> {
    let usd_per_day = object.number("usd_per_day");
    object.finish();
    usd_per_day.map(|usd_per_day| Budget { usd_per_day })
}

fn routes(object: Object<'_>) -> Routes {
    let routes = Routes {
        hosts: object.list("hosts", host).unwrap_or_default(),
        aliases: object.texts("aliases").unwrap_or_default(),
    };
    object.finish();
    routes
}

fn host(value: &Value) -> Result<String, String> {
    let host = text(value)?.to_ascii_lowercase();
    let legal = (1..=253).contains(&host.len())
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
    match legal && !host.starts_with('.') && !host.ends_with('.') {
        true => Ok(host),
        false => Err("must be a host name without a port".to_owned()),
    }
}

fn activity(object: Object<'_>) -> Activity {
    let pattern = |value: &Value| {
        let pattern = text(value)?;
        Regex::new(&pattern).map_err(|_| "must be a regular expression".to_owned())?;
        Ok(pattern)
    };
    let activity = Activity {
        ignore: object.list("ignore", pattern).unwrap_or_default(),
    };
    object.finish();
    activity
}

/// The tier's choices, for errors that list them.
const TIERS: [(&str, Tier); 4] = [
    ("dedicated", Tier::Dedicated),
    ("local", Tier::Local),
    ("serverless", Tier::Serverless),
    ("pod", Tier::Pod),
];

/// Reads `{tier, until?}`.
pub(super) fn forced(object: Object<'_>) -> Option<Forced> {
    let tier = object.choice("tier", &TIERS);
    if tier.is_none() && object.value("tier").is_none() {
        object.wrong("tier", "is required");
    }
    if object.is_null("until") {
        object.wrong(
            "until",
            "must be a time, or left out to force without an end",
        );
    }
    let until = object.read("until", |value| {
        let text = text(value)?;
        DateTime::parse_from_rfc3339(&text)
            .map(|at| at.with_timezone(&Utc).timestamp_micros())
            .map_err(|_| "must be a time as 2026-12-01T00:00:00Z".to_owned())
    });
    object.finish();
    tier.map(|tier| Forced { tier, until })
}
