//! Renting: what a create must say, and what it makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::container;
use crate::faults::{names, take};
use crate::instances::{Instance, Phase};
use crate::market::Ask;
use crate::no::No;
use crate::service::{Service, State};

/// The fields of a create.
const FIELDS: [&str; 16] = [
    "image",
    "disk",
    "label",
    "env",
    "runtype",
    "args",
    "args_str",
    "onstart",
    "target_state",
    "price",
    "cancel_unavail",
    "image_login",
    "volume_info",
    "template_hash_id",
    "user",
    "force",
];
const RUNTYPES: [&str; 7] = [
    "ssh",
    "jupyter",
    "args",
    "ssh_proxy",
    "ssh_direct",
    "jupyter_proxy",
    "jupyter_direct",
];

impl Service {
    /// `PUT /api/v0/asks/ID`.
    pub(crate) fn rent(self: &Arc<Self>, ask: u64, body: &Value) -> Result<Value, No> {
        check(body)?;
        let mut state = self.lock();
        if state.faults.broke {
            let msg = "Your account lacks credit; see the billing page.";
            return Err(No::new(400, "insufficient_credit", msg));
        }
        let ask = state.take_ask(ask)?;
        let (underbid, least) = (take(&mut state.faults.underbid), ask.price(true));
        let bid = body["price"].as_f64();
        let id = self.place(&mut state, ask, body);
        let too_low = bid.is_some_and(|bid| bid < least);
        if underbid || too_low {
            let now = self.clock.now();
            if let Some(instance) = state.instances.get_mut(&id) {
                instance.end(Phase::Outbid, now);
            }
            let no = No::new(400, "invalid_price", "the bid is below the market");
            return Err(no.with("new_contract", id));
        }
        let key = format!("instance-key-of-{id}");
        Ok(json!({ "success": true, "new_contract": id, "instance_api_key": key }))
    }

    /// F13: somebody else's instance in the same account; `None` when nothing
    /// is left to rent.
    pub(crate) fn stranger(self: &Arc<Self>, label: &str) -> Option<u64> {
        let mut state = self.lock();
        let ask = state.asks.pop()?;
        let body = json!({ "image": "theirs", "label": label, "env": { "-p 8000:8000": "1" } });
        Some(self.place(&mut state, ask, &body))
    }

    /// Makes an instance on `ask`; its id.
    fn place(self: &Arc<Self>, state: &mut State, ask: Ask, body: &Value) -> u64 {
        let now = self.clock.now();
        let reused = state
            .faults
            .reused_places
            .then(|| state.places.pop())
            .flatten();
        let id = reused.map_or(30_000_000 + state.made, |(id, _)| id);
        let life = CancellationToken::new();
        let env = environment(&body["env"]);
        let inside = env.keys().filter_map(|name| mapped(name));
        let wanted = reused.map_or(0, |(_, port)| port);
        let ports = inside.filter_map(|port| {
            let outside = container::open(self, id, wanted, &life)?;
            Some((port, outside))
        });
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let seconds = self.clock.wall_micros() as f64 / 1e6 + state.faults.skew_s as f64;
        let instance = Instance {
            ports: ports.collect(),
            ask,
            label: text("label"),
            env,
            image: text("image"),
            disk: body["disk"].as_f64().unwrap_or(8.0),
            bid: body["price"].as_f64(),
            phase: Phase::Up,
            made: now,
            start_date: seconds,
            never_ready: state.faults.never_ready,
            spent: 0.0,
            ended: now,
            life,
        };
        state.made += 1;
        state.instances.insert(id, instance);
        id
    }
}

impl State {
    /// Takes an offer off the market, unless somebody else was quicker.
    fn take_ask(&mut self, id: u64) -> Result<Ask, No> {
        let at = self.asks.iter().position(|ask| ask.id == id);
        let ask = self.asks.remove(at.ok_or_else(|| No::no_such_ask(id))?);
        match names(&self.faults.taken_gpus, ask.gpu.name) || take(&mut self.faults.taken_offers) {
            true => Err(No::taken(id)),
            false => Ok(ask),
        }
    }
}

/// The container's port in `-p OUTSIDE:INSIDE`.
fn mapped(name: &str) -> Option<u16> {
    name.strip_prefix("-p ")?.rsplit(':').next()?.parse().ok()
}

fn environment(env: &Value) -> BTreeMap<String, String> {
    let pairs = env.as_object().into_iter().flatten();
    pairs
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// Refuses a create that the published schema refuses.
fn check(body: &Value) -> Result<(), No> {
    let fields = body.as_object();
    let fields = fields.ok_or_else(|| No::invalid_args("the body must be an object"))?;
    if let Some(odd) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(No::invalid_args(&format!("'{odd}' is not known")));
    }
    let text = |key: &str| body[key].as_str().unwrap_or_default();
    let env = &body["env"];
    let strings = env
        .as_object()
        .is_some_and(|env| env.values().all(Value::is_string));
    match () {
        () if text("image").is_empty() => Err(No::invalid_args("'image' is required")),
        () if text("label").len() > 256 => Err(No::invalid_args("'label' is too long")),
        () if body["disk"].as_f64().is_some_and(|disk| disk < 8.0) => {
            Err(No::invalid_args("'disk' must be at least 8"))
        }
        () if !env.is_null() && !env.is_string() && !strings => Err(No::invalid_args(
            "'env' must be flags or an object of texts",
        )),
        () if !text("runtype").is_empty() && !RUNTYPES.contains(&text("runtype")) => {
            Err(No::invalid_args("'runtype'"))
        }
        () if body["price"]
            .as_f64()
            .is_some_and(|it| !(0.001..=128.0).contains(&it)) =>
        {
            Err(No::new(400, "invalid_price", "price must be 0.001 to 128"))
        }
        () => Ok(()),
    }
}
