use serde_json::Value;
use thermocline_policy::fleet::Shape;
use thermocline_wire::reader::{Object, size, text};

const MIB: u64 = 1 << 20;

/// `[fleet.worker]`: a worker, in the server's own process or in one of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Its name.
    pub name: String,
    /// What executes models.
    pub runtime: WorkerRuntime,
    /// Jobs that it runs at a time; 1 or more.
    pub permits: u32,
    /// MiB for models, of each GPU; of main memory for a worker without one.
    pub memory_mib: Vec<u64>,
    /// Which work it is for.
    pub shape: Shape,
}

/// What executes models on a worker's node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerRuntime {
    /// Containers of the Docker daemon.
    Docker,
    /// Processes of a simulated cloud.
    Sim,
    /// A server of the Open Inference Protocol, `http://` with host and port.
    Kserve(String),
}

impl WorkerRuntime {
    /// The runtime that `text` names.
    ///
    /// # Errors
    /// What is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "docker" => Ok(WorkerRuntime::Docker),
            "sim" => Ok(WorkerRuntime::Sim),
            url => kserve(url).ok_or_else(|| {
                "must be docker, sim, or http:// with host and port of a KServe v2 server"
                    .to_owned()
            }),
        }
    }
}

fn kserve(text: &str) -> Option<WorkerRuntime> {
    let url = url::Url::parse(text).ok()?;
    let plain = url.scheme() == "http"
        && (url.has_host() && url.username().is_empty() && url.password().is_none())
        && (url.path() == "/" && url.query().is_none() && url.fragment().is_none());
    plain.then(|| WorkerRuntime::Kserve(url.as_str().trim_end_matches('/').to_owned()))
}

pub(super) fn worker(section: Object<'_>) -> WorkerConfig {
    let runtime = section.read("runtime", |value| WorkerRuntime::parse(&text(value)?));
    let memory = section.read("memory", memory);
    if memory.is_none() && section.value("memory").is_none() {
        section.wrong("memory", "is required: a size, or one for each GPU");
    }
    let config = WorkerConfig {
        name: section
            .read("name", name)
            .unwrap_or_else(|| "local".to_owned()),
        runtime: runtime.unwrap_or(WorkerRuntime::Docker),
        permits: section.whole("permits", 1..=10_000).unwrap_or(4),
        memory_mib: memory.unwrap_or_default(),
        shape: section.choice("shape", &SHAPES).unwrap_or_default(),
    };
    section.finish();
    config
}

const SHAPES: [(&str, Shape); 2] = [("gpu", Shape::Gpu), ("cpu", Shape::Cpu)];

fn name(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    match thermocline_policy::is_dns_label(&name) {
        true => Ok(name),
        false => Err("must be a DNS label".to_owned()),
    }
}

/// One size, or a list of them.
fn memory(value: &Value) -> Result<Vec<u64>, String> {
    let sizes: Result<Vec<u64>, String> = match value {
        Value::Array(sizes) if !sizes.is_empty() => sizes.iter().map(size).collect(),
        Value::Array(_) => Err("must have a size for each GPU".to_owned()),
        one => size(one).map(|size| vec![size]),
    };
    Ok(sizes?.into_iter().map(|bytes| bytes / MIB).collect())
}
