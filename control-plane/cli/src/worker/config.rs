use serde_json::Value;
use thermocline_policy::FieldErrors;
use thermocline_policy::fleet::{Mib, Shape};
use thermocline_wire::reader::{Mistakes, Object, size, text};

/// `[fleet.worker]`: a worker, in the server's own process or in one of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerConfig {
    /// Its name.
    pub(crate) name: String,
    /// What executes models.
    pub(crate) runtime: WorkerRuntime,
    /// Jobs that it runs at a time; 1 or more.
    pub(crate) permits: u32,
    /// MiB for models, of each GPU; of main memory for a worker without one.
    pub(crate) memory_mib: Vec<u64>,
    /// Which work it is for.
    pub(crate) shape: Shape,
}

/// What executes models on a worker's node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkerRuntime {
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
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
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

/// `[fleet.worker]` of the configuration, if it has one.
///
/// # Errors
/// Every mistake, each with its key and what is allowed.
pub(crate) fn read(document: &Value) -> Result<Option<WorkerConfig>, FieldErrors> {
    let mistakes = Mistakes::default();
    let fleet = document.get("fleet").filter(|section| section.is_object());
    let fleet = fleet.and_then(|section| Object::root("fleet", section, &mistakes));
    let config = fleet.and_then(|fleet| fleet.object("worker")).map(worker);
    mistakes.into_inner().into_result(config)
}

fn worker(section: Object<'_>) -> WorkerConfig {
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
    Ok(sizes?
        .into_iter()
        .map(|bytes| Mib::within(bytes).0)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn worker(section: Value) -> Result<Option<WorkerConfig>, FieldErrors> {
        read(&json!({ "fleet": { "worker": section } }))
    }

    #[test]
    fn a_worker_is_as_it_is_told_and_there_is_none_unless_it_is_told() {
        assert_eq!(read(&json!({ "fleet": {} })).unwrap(), None);
        let told = json!({
            "runtime": "http://127.0.0.1:8000", "memory": ["24GiB", "512MiB"], "shape": "cpu",
        });
        let worker = worker(told).unwrap().unwrap();
        let kserve = WorkerRuntime::Kserve("http://127.0.0.1:8000".to_owned());
        assert_eq!((&*worker.name, worker.permits), ("local", 4));
        assert_eq!((worker.runtime, worker.shape), (kserve, Shape::Cpu));
        assert_eq!(worker.memory_mib, [24 << 10, 512]);
    }

    #[test]
    fn all_mistakes_are_told_with_their_keys() {
        let wrong = json!({ "runtime": "https://x", "permits": 0, "name": "A b", "x": 1 });
        let found = worker(wrong).unwrap_err();
        let mut found: Vec<String> = found.into_iter().map(|error| error.field).collect();
        found.sort();
        let expected = ["memory", "name", "permits", "runtime", "x"];
        assert_eq!(found, expected.map(|key| format!("fleet.worker.{key}")));
    }
}
