//! Instances: where they stand, and how they are told of.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use thermocline_policy::Moment;
use tokio_util::sync::CancellationToken;

use crate::faults::{ListFault, take};
use crate::market::Ask;
use crate::no::No;
use crate::service::{Service, younger};
use crate::settings::Settings;

/// How an instance ended, if it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Up,
    /// Its container ended.
    Exited,
    /// Its machine is not heard of any more.
    Offline,
    /// It is stopped, and meant to run.
    Outbid,
}

/// One instance.
pub(crate) struct Instance {
    pub(crate) ask: Ask,
    pub(crate) label: String,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) image: String,
    pub(crate) disk: f64,
    /// Dollars an hour that were bid; on demand when absent.
    pub(crate) bid: Option<f64>,
    pub(crate) phase: Phase,
    pub(crate) made: Moment,
    pub(crate) start_date: f64,
    pub(crate) never_ready: bool,
    /// Container ports, and where they are reached.
    pub(crate) ports: BTreeMap<u16, u16>,
    /// Dollars until it ended.
    pub(crate) spent: f64,
    pub(crate) ended: Moment,
    pub(crate) life: CancellationToken,
}

impl Instance {
    /// Its `actual_status` at `now`; none while it is being provisioned.
    pub(crate) fn status(&self, now: Moment, settings: &Settings) -> Option<&'static str> {
        let age = now.since(self.made);
        match self.phase {
            Phase::Exited => Some("exited"),
            Phase::Offline => Some("offline"),
            Phase::Outbid => Some("stopped"),
            Phase::Up if age < settings.provisioning => None,
            Phase::Up if self.never_ready => Some("loading"),
            Phase::Up if age < settings.provisioning + settings.loading => Some("loading"),
            Phase::Up => Some("running"),
        }
    }

    /// Whether its ports are mapped.
    pub(crate) fn listens(&self, now: Moment, settings: &Settings) -> bool {
        let since = settings.provisioning + settings.loading + settings.mapping;
        self.phase == Phase::Up && !self.never_ready && now.since(self.made) >= since
    }

    /// Dollars an hour while it runs: storage too, which a stopped one pays alone.
    fn dph(&self) -> f64 {
        let storage = Ask::storage(self.disk);
        match self.phase {
            Phase::Up => self.bid.unwrap_or(self.ask.price(false)) + storage,
            _ => storage,
        }
    }

    /// What it has cost until `now`, dollars.
    pub(crate) fn spent(&self, now: Moment) -> f64 {
        self.spent + now.since(self.ended).as_secs_f64() / 3_600.0 * self.dph()
    }

    pub(crate) fn end(&mut self, phase: Phase, now: Moment) {
        (self.spent, self.ended, self.phase) = (self.spent(now), now, phase);
    }

    /// Its first port outside.
    pub(crate) fn port(&self) -> u16 {
        self.ports.values().next().copied().unwrap_or_default()
    }

    fn describe(&self, id: u64, status: Option<&str>, now: Moment, settings: &Settings) -> Value {
        let mapping = |(inside, outside): (&u16, &u16)| {
            let host = json!([{ "HostIp": "0.0.0.0", "HostPort": outside.to_string() }]);
            (format!("{inside}/tcp"), host)
        };
        let mapped = self.listens(now, settings);
        let ports = mapped.then(|| self.ports.iter().map(mapping).collect::<BTreeMap<_, _>>());
        let env: Vec<(&String, &String)> = self.env.iter().collect();
        json!({
            "id": id, "label": self.label, "actual_status": status, "intended_status": "running",
            "cur_state": if self.phase == Phase::Up { "running" } else { "stopped" }, "next_state": "running",
            "status_msg": null, "image_uuid": self.image, "image_runtype": "args", "extra_env": env,
            "gpu_name": self.ask.gpu.name, "num_gpus": self.ask.num_gpus, "disk_space": self.disk,
            "public_ipaddr": "127.0.0.1\n", "ports": ports, "dph_total": self.dph(),
            "is_bid": self.bid.is_some(), "min_bid": self.ask.price(true),
            "start_date": self.start_date, "ssh_host": "ssh5.vast.ai", "ssh_port": 10_882,
        })
    }
}

impl Service {
    /// `GET /api/v0/instances/ID`: one under a plural.
    pub(crate) fn instance(&self, id: u64) -> Result<Value, No> {
        let now = self.clock.now();
        let mut state = self.lock();
        let (reported, lag) = (state.reported(), state.faults.get_lag_s);
        let found = state.instances.get(&id);
        let instance = found
            .filter(|it| !younger(it.made, now, lag))
            .ok_or_else(|| No::no_such_instance(id))?;
        let status = reported.as_deref().or(instance.status(now, &self.settings));
        Ok(json!({ "instances": instance.describe(id, status, now, &self.settings) }))
    }

    /// A page of `GET /api/v1/instances`, after the instance `after`.
    pub(crate) fn page(&self, after: u64, limit: usize) -> Result<Value, No> {
        let now = self.clock.now();
        let mut state = self.lock();
        let (reported, faults) = (state.reported(), state.faults.clone());
        if faults.list == Some(ListFault::Error) {
            return Err(No::new(500, "server_error", "internal error"));
        }
        let visible = |it: &&(u64, Value)| it.0 > after;
        let mut all: Vec<(u64, Value)> = Vec::new();
        for (id, instance) in &state.instances {
            if younger(instance.made, now, faults.list_lag_s)
                || faults.list == Some(ListFault::Empty)
            {
                continue;
            }
            let status = reported.as_deref().or(instance.status(now, &self.settings));
            let mut said = instance.describe(*id, status, now, &self.settings);
            if faults.list == Some(ListFault::Bare) {
                said["extra_env"] = Value::Null;
            }
            all.push((*id, said));
        }
        let total = all.len();
        let page: Vec<&(u64, Value)> = all.iter().filter(visible).take(limit).collect();
        let more = all.iter().filter(visible).count() > page.len();
        let last = page.last().map_or(after, |it| it.0);
        let next = match faults.list {
            Some(ListFault::Circular) => Some(after.to_string()),
            Some(ListFault::Truncated) => None,
            _ => more.then(|| last.to_string()),
        };
        let shown = match faults.list {
            Some(ListFault::Truncated) => page.len() / 2,
            _ => page.len(),
        };
        let instances: Vec<&Value> = page.iter().take(shown).map(|it| &it.1).collect();
        Ok(json!({
            "success": true, "instances_found": instances.len(), "total_instances": total,
            "next_token": next, "instances": instances,
        }))
    }

    /// `DELETE /api/v0/instances/ID`.
    pub(crate) fn destroy(&self, id: u64) -> Result<Value, No> {
        let now = self.clock.now();
        let mut state = self.lock();
        let lag = state.faults.delete_lag_s;
        let known = state.instances.get(&id);
        if known.is_none_or(|it| younger(it.made, now, lag)) {
            return Err(No::no_such_instance(id));
        }
        if !take(&mut state.faults.ignored_deletes) {
            state.drop_instance(id, now);
        }
        Ok(json!({ "success": true }))
    }
}
