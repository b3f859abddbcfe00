//! Whether a body is what the published schema asks for, field by field.

use serde_json::{Map, Value};

/// What a value must look like.
pub(crate) enum Shape {
    /// A text of at least so many characters.
    Text(usize),
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// A number of at least so much.
    Number(f64),
    /// True or false.
    Flag,
    /// An object of texts.
    Texts,
    /// A list of at least and at most so many items.
    List(&'static Shape, usize, usize),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// `major.minor`.
    Version,
    /// The shape, or null.
    Nullable(&'static Shape),
    /// An object of these fields and no others.
    Object(&'static [Field]),
}

/// One field of an object.
pub(crate) struct Field {
    name: &'static str,
    required: bool,
    shape: Shape,
}

const fn needs(name: &'static str, shape: Shape) -> Field {
    let required = true;
    Field {
        name,
        required,
        shape,
    }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    let required = false;
    Field {
        name,
        required,
        shape,
    }
}

const ANY: usize = usize::MAX;
const UP: i64 = i64::MAX;
const TEXT: Shape = Shape::Text(0);
const NAME: Shape = Shape::Text(1);
const STRINGS: Shape = Shape::List(&TEXT, 0, ANY);
const VERSIONS: Shape = Shape::List(&Shape::Version, 0, ANY);

const MOUNTS: Shape = Shape::Object(&[
    may(
        "persistent",
        Shape::Object(&[needs("size", Shape::Whole(10, UP)), needs("path", TEXT)]),
    ),
    may(
        "network",
        Shape::List(
            &Shape::Object(&[needs("volumeId", TEXT), needs("path", TEXT)]),
            0,
            1,
        ),
    ),
]);

const POD_GPU: Shape = Shape::Object(&[
    needs("id", TEXT),
    may("count", Shape::Whole(1, UP)),
    may("allowedCudaVersions", VERSIONS),
    may("minCudaVersion", Shape::Version),
]);

const CPU: Shape = Shape::Object(&[needs("id", NAME), needs("vcpuCount", Shape::Whole(2, UP))]);

/// The scaling of an endpoint, before it is known which.
const SCALING: Shape = Shape::Object(&[
    needs("type", Shape::Choice(&["QUEUE_DELAY", "REQUEST_COUNT"])),
    may("queueDelay", Shape::Number(0.5)),
    may("requestCount", Shape::Whole(1, UP)),
]);

const WORKERS: Shape = Shape::Object(&[
    may("min", Shape::Whole(0, UP)),
    may("max", Shape::Whole(0, UP)),
    may("idleTimeout", Shape::Whole(1, 3600)),
]);

const FLASHBOOT: Shape = Shape::Choice(&["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"]);

/// `POST /v2/pods`.
pub(crate) const CREATE_POD: Shape = Shape::Object(&[
    needs("name", NAME),
    may("image", TEXT),
    may("args", TEXT),
    may("disk", Shape::Whole(1, UP)),
    may("env", Shape::Texts),
    may("ports", STRINGS),
    may("registry", Shape::Nullable(&TEXT)),
    may("gpu", POD_GPU),
    may("cpu", CPU),
    may("cloud", Shape::Choice(&["SECURE", "COMMUNITY"])),
    may("dataCenterIds", STRINGS),
    may("mounts", MOUNTS),
    may("globalNetworking", Shape::Flag),
    may("startJupyter", Shape::Flag),
    may("startSsh", Shape::Flag),
    may("templateId", NAME),
]);

/// `PATCH /v2/pods/{id}`.
pub(crate) const UPDATE_POD: Shape = Shape::Object(&[
    may("name", NAME),
    may("image", TEXT),
    may("args", TEXT),
    may("disk", Shape::Whole(1, UP)),
    may("env", Shape::Texts),
    may("ports", STRINGS),
    may("registry", Shape::Nullable(&TEXT)),
    may("locked", Shape::Flag),
    may("globalNetworking", Shape::Flag),
    may("mounts", MOUNTS),
    may("templateId", TEXT),
]);

/// `POST /v2/pods/{id}/action`.
pub(crate) const POD_ACTION: Shape = Shape::Object(&[needs(
    "action",
    Shape::Choice(&["start", "stop", "restart", "terminate"]),
)]);

/// `POST /v2/serverless`.
pub(crate) const CREATE_ENDPOINT: Shape = Shape::Object(&[
    needs("name", NAME),
    needs("type", Shape::Choice(&["QUEUE", "LOAD_BALANCER"])),
    needs("scaling", SCALING),
    may("image", TEXT),
    may("args", TEXT),
    may("disk", Shape::Whole(1, UP)),
    may("env", Shape::Texts),
    may("ports", STRINGS),
    may("registry", Shape::Nullable(&TEXT)),
    may(
        "gpu",
        Shape::Object(&[
            needs("pools", Shape::List(&TEXT, 1, ANY)),
            may("excludedTypes", Shape::List(&NAME, 0, ANY)),
            may("count", Shape::Whole(1, UP)),
            may("allowedCudaVersions", VERSIONS),
            may("minCudaVersion", Shape::Version),
        ]),
    ),
    may("cpu", Shape::List(&CPU, 1, ANY)),
    may("workers", WORKERS),
    may("timeout", Shape::Whole(0, UP)),
    may("flashboot", FLASHBOOT),
    may("dataCenterIds", STRINGS),
    may("networkVolumes", STRINGS),
    may("templateId", NAME),
]);

/// `PATCH /v2/serverless/{id}`.
pub(crate) const UPDATE_ENDPOINT: Shape = Shape::Object(&[
    may("name", NAME),
    may("image", TEXT),
    may("args", TEXT),
    may("disk", Shape::Whole(1, UP)),
    may("env", Shape::Texts),
    may("ports", STRINGS),
    may("registry", Shape::Nullable(&TEXT)),
    may("scaling", SCALING),
    may("workers", WORKERS),
    may("timeout", Shape::Whole(0, UP)),
    may("flashboot", FLASHBOOT),
    may("dataCenterIds", STRINGS),
    may("networkVolumes", STRINGS),
    may("templateId", TEXT),
]);

/// The body of a job: `POST …/run` and `…/runsync`.
pub(crate) const JOB: Shape = Shape::Object(&[
    may(
        "policy",
        Shape::Object(&[
            may("executionTimeout", Shape::Whole(5_000, 604_800_000)),
            may("lowPriority", Shape::Flag),
            may("ttl", Shape::Whole(10_000, 604_800_000)),
        ]),
    ),
    may("webhook", TEXT),
    may(
        "s3Config",
        Shape::Object(&[
            needs("accessId", TEXT),
            needs("accessSecret", TEXT),
            needs("bucketName", TEXT),
            needs("endpointUrl", TEXT),
        ]),
    ),
]);

/// What is wrong with `value`, in the service's words; empty when nothing is.
pub(crate) fn mistakes(value: &Value, shape: &Shape) -> Vec<String> {
    let mut found = Vec::new();
    check("$", value, shape, &mut found);
    found
}

fn check(path: &str, value: &Value, shape: &Shape, found: &mut Vec<String>) {
    let ok = match shape {
        Shape::Text(least) => value.as_str().is_some_and(|t| t.chars().count() >= *least),
        Shape::Whole(least, most) => value
            .as_i64()
            .is_some_and(|n| (*least..=*most).contains(&n)),
        Shape::Number(least) => value.as_f64().is_some_and(|n| n >= *least),
        Shape::Flag => value.is_boolean(),
        Shape::Texts => value
            .as_object()
            .is_some_and(|o| o.values().all(Value::is_string)),
        Shape::Choice(choices) => value.as_str().is_some_and(|t| choices.contains(&t)),
        Shape::Version => value.as_str().is_some_and(is_version),
        Shape::Nullable(inner) if !value.is_null() => return check(path, value, inner, found),
        Shape::Nullable(_) => true,
        Shape::List(item, least, most) => match value.as_array() {
            Some(items) => {
                for (i, inside) in items.iter().enumerate() {
                    check(&format!("{path}[{i}]"), inside, item, found);
                }
                (*least..=*most).contains(&items.len())
            }
            None => false,
        },
        Shape::Object(fields) => match value.as_object() {
            Some(object) => return check_fields(path, object, fields, found),
            None => false,
        },
    };
    if !ok {
        found.push(format!("{path}: value does not match the schema"));
    }
}

fn check_fields(
    path: &str,
    object: &Map<String, Value>,
    fields: &[Field],
    found: &mut Vec<String>,
) {
    for field in fields {
        match object.get(field.name) {
            Some(value) => check(
                &format!("{path}.{}", field.name),
                value,
                &field.shape,
                found,
            ),
            None if field.required => {
                found.push(format!("{path}: missing property '{}'", field.name));
            }
            None => {}
        }
    }
    let unknown = object
        .keys()
        .filter(|key| fields.iter().all(|field| field.name != *key));
    let unknown: Vec<String> = unknown.map(|key| format!("'{key}'")).collect();
    if !unknown.is_empty() {
        found.push(format!(
            "{path}: additional properties {} not allowed",
            unknown.join(", ")
        ));
    }
}

fn is_version(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.')
        .is_some_and(|(major, minor)| digits(major) && digits(minor))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_is_not_in_the_schema_is_named() {
        let body = json!({"name": "n", "image": "i", "gpuTypeIds": [], "gpu": {"id": "x", "n": 1}});
        let found = mistakes(&body, &CREATE_POD);
        assert_eq!(
            found,
            [
                "$.gpu: additional properties 'n' not allowed",
                "$: additional properties 'gpuTypeIds' not allowed"
            ]
        );
    }

    #[test]
    fn what_is_missing_or_of_another_kind_is_named() {
        let body = json!({"type": "queue", "workers": {"idleTimeout": 0}});
        assert_eq!(mistakes(&body, &CREATE_ENDPOINT).len(), 4);
        assert_eq!(mistakes(&json!([]), &CREATE_POD).len(), 1);
        let full = json!({"name": "n", "type": "QUEUE", "timeout": 1, "cpu": [{"id": "cpu5c", "vcpuCount": 4}],
            "scaling": {"type": "QUEUE_DELAY", "queueDelay": 4}});
        assert_eq!(mistakes(&full, &CREATE_ENDPOINT), [""; 0]);
    }
}
