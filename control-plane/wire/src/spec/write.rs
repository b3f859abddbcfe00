use serde_json::{Map, Value, json};
use thermocline_policy::{
    Concurrency, EnvValue, Forced, Health, HostHeader, Load, PolicyMode, Protocol, Selection,
    Shape, Spec, Strategy, Tiers, format_duration, format_size,
};

use crate::time::rfc3339;

/// The canonical JSON of a specification: fields that say nothing are left out.
pub fn spec_to_json(spec: &Spec) -> Value {
    let defaults = Spec::named("");
    let mut out = Map::new();
    let mut put = |key: &str, there: bool, value: Value| {
        if there {
            out.insert(key.to_owned(), value);
        }
    };
    put("name", true, json!(spec.name));
    put("image", spec.image.is_some(), json!(spec.image));
    put("command", !spec.command.is_empty(), json!(spec.command));
    put("args", !spec.args.is_empty(), json!(spec.args));
    put("port", true, json!(spec.port));
    put("protocol", true, json!(protocol(spec.protocol)));
    put("env", !spec.env.is_empty(), env(spec));
    put(
        "resources",
        spec.resources != defaults.resources,
        resources(spec),
    );
    put(
        "health",
        spec.health != defaults.health,
        health(&spec.health),
    );
    put("tiers", true, tiers(&spec.tiers));
    put("policy", spec.policy != defaults.policy, policy(spec));
    let concurrency = concurrency_json(&spec.concurrency);
    put(
        "concurrency",
        spec.concurrency != defaults.concurrency,
        concurrency,
    );
    put(
        "cold_start",
        spec.cold_start != defaults.cold_start,
        cold_start(spec),
    );
    put("limits", spec.limits != defaults.limits, limits(spec));
    let p95 = spec.objective.as_ref().map(|o| format_duration(o.p95));
    put("objective", p95.is_some(), json!({ "p95": p95 }));
    let usd_per_day = spec.budget.as_ref().map(|b| b.usd_per_day);
    put(
        "budget",
        usd_per_day.is_some(),
        json!({ "usd_per_day": usd_per_day }),
    );
    let routes = json!({ "hosts": spec.routes.hosts, "aliases": spec.routes.aliases });
    put("routes", spec.routes != defaults.routes, routes);
    let activity = json!({ "ignore": spec.activity.ignore });
    put("activity", spec.activity != defaults.activity, activity);
    put(
        "forced",
        spec.forced.is_some(),
        json!(spec.forced.as_ref().map(forced)),
    );
    Value::Object(out)
}

/// `fields` without those that are null.
fn present(fields: Value) -> Value {
    match fields {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        other => other,
    }
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "http",
        Protocol::Openai => "openai",
    }
}

fn env(spec: &Spec) -> Value {
    spec.env
        .iter()
        .map(|(key, value)| match value {
            EnvValue::Plain(text) => (key.clone(), json!(text)),
            EnvValue::Secret(name) => (key.clone(), json!({ "secret": name })),
        })
        .collect()
}

fn resources(spec: &Spec) -> Value {
    let r = &spec.resources;
    json!({
        "vram": format_size(r.vram), "gpus": r.gpus, "cpus": r.cpus, "memory": format_size(r.memory),
    })
}

fn health(health: &Health) -> Value {
    let ready = &health.ready;
    let mut ready_json = json!({
        "path": ready.path,
        "initializing": ready.initializing,
        "successes": ready.successes,
        "interval": format_duration(ready.interval),
        "status": ready.status,
    });
    if ready.status.is_empty()
        && let Some(map) = ready_json.as_object_mut()
    {
        // "Any below 500" is what neither a path nor a status says.
        map.remove("status");
        map.remove("path");
    }
    let live = health.live.as_ref().map(|live| {
        json!({
            "path": live.path,
            "interval": format_duration(live.interval),
            "failures": live.failures,
        })
    });
    present(json!({
        "ready": ready_json,
        "start_timeout": format_duration(health.start_timeout),
        "live": live,
    }))
}

fn tiers(tiers: &Tiers) -> Value {
    let dedicated = tiers
        .dedicated
        .as_ref()
        .map(|t| present(json!({ "url": t.url, "host": t.host.map(host_header) })));
    let local = tiers.local.as_ref().map(|t| {
        present(json!({
            "max_instances": t.max_instances,
            "idle_timeout": format_duration(t.idle_timeout),
            "host_port": t.host_port,
            "host": t.host.map(host_header),
        }))
    });
    let serverless = tiers.serverless.as_ref().map(|t| {
        present(json!({
            "provider": t.provider,
            "gpu": t.gpu,
            "max_workers": t.max_workers,
            "idle_timeout": format_duration(t.idle_timeout),
            "queue_delay": format_duration(t.queue_delay),
            "host": t.host.map(host_header),
            "pinned": t.fleet.pinned.then_some(true),
            "preemptible": t.fleet.preemptible.then_some(true),
            "shape": t.fleet.shape.map(shape),
            "max_attempts": t.fleet.max_attempts,
        }))
    });
    let pod = tiers.pod.as_ref().map(|t| {
        present(json!({
            "provider": t.provider,
            "gpu": t.gpu,
            "min_instances": t.min_instances,
            "max_instances": t.max_instances,
            "idle_timeout": format_duration(t.idle_timeout),
            "host": t.host.map(host_header),
        }))
    });
    present(json!({ "dedicated": dedicated, "local": local, "serverless": serverless, "pod": pod }))
}

fn host_header(host: HostHeader) -> &'static str {
    match host {
        HostHeader::Keep => "keep",
        HostHeader::Address => "address",
    }
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Gpu => "gpu",
        Shape::Cpu => "cpu",
    }
}

fn policy(spec: &Spec) -> Value {
    let p = &spec.policy;
    let mode = p.mode.map(PolicyMode::as_str);
    present(json!({
        "mode": mode,
        "window": p.window.map(format_duration),
        "promote_rps": p.promote_rps,
        "demote_rps": p.demote_rps,
        "hold": p.hold.map(format_duration),
    }))
}

fn concurrency_json(c: &Concurrency) -> Value {
    let strategy = match c.strategy {
        Strategy::Shared => "shared",
        Strategy::Exclusive => "exclusive",
    };
    let load = match c.load {
        Load::Once => "once",
        Load::PerWorker => "per_worker",
    };
    let selection = match c.selection {
        Selection::RoundRobin => "round_robin",
        Selection::LeastLoaded => "least_loaded",
    };
    present(json!({
        "strategy": strategy,
        "workers": c.workers,
        "load": load,
        "selection": selection,
        "max_concurrency": c.max_concurrency,
        "queue": c.queue,
        "restart_on_error": c.restart_on_error.then_some(true),
    }))
}

fn cold_start(spec: &Spec) -> Value {
    present(json!({
        "max_wait": spec.cold_start.max_wait.map(format_duration),
        "max_pending": spec.cold_start.max_pending,
    }))
}

fn limits(spec: &Spec) -> Value {
    let l = &spec.limits;
    present(json!({
        "deadline": l.deadline.map(format_duration),
        "first_byte": l.first_byte.map(format_duration),
        "idle": l.idle.map(format_duration),
        "max_body": l.max_body.map(format_size),
    }))
}

/// `{tier, until?}`.
pub fn forced(forced: &Forced) -> Value {
    present(json!({ "tier": forced.tier, "until": forced.until.map(rfc3339) }))
}
