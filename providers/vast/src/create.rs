//! The body of a create.

use serde_json::{Map, Value, json};
use thermocline_policy::Tier;
use thermocline_provider::cloud::{Marks, name};
use thermocline_provider::{InstanceRequest, Mistake, ProviderError};

use crate::error::invalid;
use crate::settings::Settings;

/// What the service takes of arguments and of an environment, characters.
const MOST_ARGS: usize = 4_096;
const MOST_ENV: usize = 32_768;

/// Refuses what can never be made.
///
/// # Errors
/// `invalid`.
pub(crate) fn check(request: &InstanceRequest) -> Result<(), ProviderError> {
    match () {
        () if request.tier != Tier::Pod => Err(invalid("Vast.ai has pods alone")),
        () if request.image.is_empty() => Err(invalid("an image is needed")),
        () if request.port == 0 => Err(invalid("a port is needed")),
        () => match refuses(request).into_iter().next() {
            Some(Mistake { field, message, .. }) => Err(invalid(format!("{field}: {message}"))),
            None => Ok(()),
        },
    }
}

/// What Vast.ai cannot do of `request`, whatever is for rent.
pub(crate) fn refuses(request: &InstanceRequest) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    if !request.command.is_empty() {
        let command = "Vast.ai cannot replace an image's entry point: leave it out and use args";
        mistakes.push(Mistake::new("command", command));
    }
    if request.args.iter().map(String::len).sum::<usize>() > MOST_ARGS {
        let args = format!("Vast.ai takes {MOST_ARGS} characters at most");
        mistakes.push(Mistake::new("args", args));
    }
    mistakes.extend(environment(request));
    mistakes
}

/// A name that is none would be read as a flag of Docker's.
fn environment(request: &InstanceRequest) -> Option<Mistake> {
    let plain = |name: &str| {
        let mut bytes = name.bytes();
        bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    if let Some(name) = request.env.keys().find(|name| !plain(name)) {
        let name: String = name.chars().take(64).collect();
        let plain = "Vast.ai takes letters, digits and _, no digit first";
        return Some(Mistake::new(format!("env.{name}"), plain));
    }
    let size: usize = request.env.iter().map(|(k, v)| k.len() + v.len()).sum();
    let most = format!("Vast.ai takes {MOST_ENV} characters at most");
    (size > MOST_ENV).then(|| Mistake::new("env", most))
}

/// The body of `PUT /api/v0/asks/ID`, but for a bid.
pub(crate) fn body(request: &InstanceRequest, marks: &Marks, settings: &Settings) -> Value {
    let env = marks.environment(request);
    let mut env: Map<String, Value> = env.into_iter().map(|(k, v)| (k, v.into())).collect();
    env.insert(format!("-p {0}:{0}", request.port), "1".into());
    json!({
        "image": request.image,
        "disk": settings.disk_gb,
        "label": name(&marks.owner, &marks.key),
        "env": env,
        "runtype": "args", // the others replace the image's entry point
        "args": request.args,
        "target_state": "running",
        "cancel_unavail": true, // rather than wait, stopped and paid for
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(more: Value) -> InstanceRequest {
        let mut request = json!({
            "owner": "o", "deployment": "d", "tier": "pod", "image": "i", "port": 8000,
            "args": ["--fast", "two words"], "env": { "STEPS": "30" },
        });
        for (key, value) in more.as_object().unwrap() {
            request[key] = value.clone();
        }
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn a_body_carries_marks_port_and_arguments() {
        let request = request(json!({}));
        let marks = Marks::new("k", &request).unwrap();
        let body = body(&request, &marks, &Settings::default());
        assert_eq!(body["label"], "tc-o-k");
        assert_eq!(body["env"]["-p 8000:8000"], "1");
        assert_eq!(body["env"]["THERMOCLINE_KEY"], "k");
        assert_eq!(body["args"], json!(["--fast", "two words"]));
        assert_eq!(
            body.get("price"),
            None,
            "nothing is bid unless it is asked for"
        );
    }

    #[test]
    fn what_can_never_be_made_is_refused_with_its_field() {
        let odd = [
            (json!({ "tier": "serverless" }), "pods alone"),
            (json!({ "image": "" }), "image"),
            (json!({ "port": 0 }), "port"),
            (json!({ "command": ["sh"] }), "entry point"),
            (json!({ "args": ["x".repeat(5_000)] }), "args"),
            (json!({ "env": { "-v /:/host": "1" } }), "env.-v /:/host"),
            (json!({ "env": { "A": "x".repeat(40_000) } }), "env"),
        ];
        for (more, word) in odd {
            let error = check(&request(more)).unwrap_err();
            assert!(error.detail.contains(word), "{error}");
        }
        assert!(check(&request(json!({}))).is_ok());
    }
}
