//! What is for rent.

use serde_json::{Value, json};

/// One slice of somebody's machine.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) id: u64,
    pub(crate) gpu: Gpu,
    pub(crate) num_gpus: u32,
    verified: bool,
    place: &'static str,
}

/// A GPU type: name, MB, dollars an hour, least bid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gpu {
    pub(crate) name: &'static str,
    ram: u32,
    dph: f64,
    min_bid: f64,
}

/// Dollars for a GB and a month of storage.
const STORAGE: f64 = 0.15;
const HOURS_IN_MONTH: f64 = 730.0;
/// What a search counts when it names no size, GB.
const USUAL_DISK: f64 = 8.0;

/// The prices are invented.
const GPUS: [Gpu; 4] = [
    gpu("RTX 3090", 24_576, 0.20, 0.10),
    gpu("RTX 4090", 24_564, 0.40, 0.20),
    gpu("L40S", 46_068, 0.80, 0.40),
    gpu("H100 SXM", 81_559, 2.20, 1.10),
];

const fn gpu(name: &'static str, ram: u32, dph: f64, min_bid: f64) -> Gpu {
    Gpu {
        name,
        ram,
        dph,
        min_bid,
    }
}

/// The names of every type, for rent just now or not.
pub(crate) fn gpu_names() -> [&'static str; 4] {
    GPUS.map(|gpu| gpu.name)
}

/// Everything that is for rent at first: of each type six machines with one
/// GPU, one with two, and one that nobody has verified.
pub(crate) fn asks() -> Vec<Ask> {
    let (mut asks, mut id) = (Vec::new(), 12_000_000);
    for gpu in GPUS {
        for n in 0..8 {
            id += 17;
            asks.push(Ask {
                id,
                gpu,
                num_gpus: if n == 6 { 2 } else { 1 },
                verified: n != 7,
                place: if n % 2 == 0 { "Sweden, SE" } else { "Ohio, US" },
            });
        }
    }
    asks
}

impl Ask {
    /// Dollars an hour of `disk` GB.
    pub(crate) fn storage(disk: f64) -> f64 {
        disk * STORAGE / HOURS_IN_MONTH
    }

    /// Dollars an hour without storage; for the least bid when it is a bid.
    pub(crate) fn price(&self, bid: bool) -> f64 {
        let each = if bid { self.gpu.min_bid } else { self.gpu.dph };
        // An unverified machine is cheap.
        each * f64::from(self.num_gpus) * if self.verified { 1.0 } else { 0.5 }
    }

    /// As a search shows it.
    pub(crate) fn shown(&self, bid: bool, disk: f64) -> Value {
        let base = self.price(bid);
        json!({
            "id": self.id, "ask_contract_id": self.id, "machine_id": self.id / 7, "host_id": 55_555,
            "gpu_name": self.gpu.name, "num_gpus": self.num_gpus, "gpu_ram": self.gpu.ram,
            "gpu_total_ram": self.gpu.ram * self.num_gpus, "dph_base": base,
            "dph_total": base + Ask::storage(disk), "min_bid": self.price(true),
            "storage_cost": STORAGE, "inet_down_cost": 0.001, "inet_up_cost": 0.004,
            "reliability": if self.verified { 0.998 } else { 0.7 }, "geolocation": self.place,
            "cuda_max_good": 12.8, "disk_space": 512.0, "direct_port_count": 42,
            "cpu_cores_effective": 16.0, "cpu_ram": 64_000,
            "verification": if self.verified { "verified" } else { "unverified" },
            "verified": self.verified, "rentable": true, "rented": false, "is_bid": bid,
        })
    }
}

/// The offers of `asks` that `search` asks for, in its order; a mistake in words.
pub(crate) fn search(search: &Value, asks: &[Ask]) -> Result<Vec<Value>, String> {
    let Value::Object(fields) = search else {
        return Err("the query must be an object".to_owned());
    };
    let bid = match search.get("type").and_then(Value::as_str) {
        None | Some("ondemand" | "on-demand") => false,
        Some("bid") => true,
        Some(other) => return Err(format!("type {other}")),
    };
    let disk = search["allocated_storage"].as_f64().unwrap_or(USUAL_DISK);
    let mut found: Vec<Value> = asks.iter().map(|ask| ask.shown(bid, disk)).collect();
    for (field, wanted) in fields {
        match field.as_str() {
            "type" | "limit" | "allocated_storage" | "order" | "rented" => {}
            _ => keep(&mut found, field, wanted)?,
        }
    }
    sort(&mut found, &search["order"]);
    found.truncate(search["limit"].as_u64().unwrap_or(64) as usize);
    Ok(found)
}

/// Leaves in `found` what fits `wanted`, as `{"gte":24000}`.
fn keep(found: &mut Vec<Value>, field: &str, wanted: &Value) -> Result<(), String> {
    let Value::Object(operators) = wanted else {
        return Err(format!("{field} must be an object of operators"));
    };
    for (operator, value) in operators {
        if found.iter().any(|offer| offer.get(field).is_none()) {
            return Err(format!("{field} is not known"));
        }
        let fits = fitting(operator, value).ok_or_else(|| format!("{field}.{operator}"))?;
        found.retain(|offer| fits(&shown(field, &offer[field])));
    }
    Ok(())
}

/// A place is searched for by its country.
fn shown(field: &str, value: &Value) -> Value {
    match (field, value.as_str()) {
        ("geolocation", Some(place)) => place.rsplit(", ").next().unwrap_or(place).into(),
        _ => value.clone(),
    }
}

/// Whether a value fits.
type Fits = Box<dyn Fn(&Value) -> bool>;

fn fitting(operator: &str, wanted: &Value) -> Option<Fits> {
    let (wanted, number) = (wanted.clone(), wanted.as_f64());
    let than = move |holds: fn(f64, f64) -> bool| -> Option<Fits> {
        let number = number?;
        Some(Box::new(move |it| {
            it.as_f64().is_some_and(|it| holds(it, number))
        }))
    };
    let same = |a: &Value, b: &Value| a == b || a.as_f64().is_some() && a.as_f64() == b.as_f64();
    let one_of = move |list: &Value, it: &Value| {
        list.as_array()
            .is_some_and(|list| list.iter().any(|one| same(one, it)))
    };
    match operator {
        "eq" => Some(Box::new(move |it| same(&wanted, it))),
        "neq" => Some(Box::new(move |it| !same(&wanted, it))),
        "gt" => than(|it, than| it > than),
        "gte" => than(|it, than| it >= than),
        "lt" => than(|it, than| it < than),
        "lte" => than(|it, than| it <= than),
        "in" => Some(Box::new(move |it| one_of(&wanted, it))),
        "notin" => Some(Box::new(move |it| !one_of(&wanted, it))),
        _ => None,
    }
}

fn sort(found: &mut [Value], order: &Value) {
    let number = |offer: &Value, field: &str| offer[field].as_f64().unwrap_or(0.0);
    for by in order.as_array().into_iter().flatten().rev() {
        let field = by[0].as_str().unwrap_or_default();
        found.sort_by(|a, b| number(a, field).total_cmp(&number(b, field)));
        if by[1] == "desc" {
            found.reverse();
        }
    }
}
