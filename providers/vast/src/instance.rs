//! Records as the protocol's instances.

use thermocline_provider::cloud::{Marks, SECRET_HEADER, one_line};
use thermocline_provider::{Address, ProviderInstance, ProviderState};

use crate::said::Record;

/// What the protocol says of `record`.
pub(crate) fn instance(record: &Record, marks: &Marks) -> ProviderInstance {
    let (state, mut detail) = state(record);
    let (state, address) = match state {
        ProviderState::Ready => match address(record, marks) {
            Some(address) => (state, Some(address)),
            None => (ProviderState::Starting, None), // its port is not mapped yet
        },
        _ => (state, None),
    };
    if detail.is_empty() && state != ProviderState::Ready {
        detail = one_line(
            record.status_msg.as_deref().unwrap_or_default(),
            &[&marks.secret],
        );
    }
    ProviderInstance {
        id: record.id.to_string(),
        key: marks.key.clone(),
        owner: marks.owner.clone(),
        state,
        address,
        usd_per_hour: record.dph_total.filter(|usd| usd.is_finite() && *usd > 0.0),
        detail,
    }
}

/// What it does against what it is meant to do. A state that is not known says
/// nothing: it is waited for.
fn state(record: &Record) -> (ProviderState, String) {
    let actual = record.actual_status.as_deref().unwrap_or_default();
    let meant_to_run = record.intended_status.as_deref() == Some("running");
    match actual {
        "running" => (ProviderState::Ready, String::new()),
        "stopped" if meant_to_run => {
            let detail = "its GPU was given to somebody who bids more";
            (ProviderState::Failed, detail.to_owned())
        }
        // None of these ever runs again.
        "stopped" | "exited" | "unknown" | "offline" => {
            (ProviderState::Failed, format!("the instance is {actual}"))
        }
        _ => (ProviderState::Starting, String::new()),
    }
}

fn address(record: &Record, marks: &Marks) -> Option<Address> {
    let ip: std::net::IpAddr = record.public_ipaddr.as_ref()?.trim().parse().ok()?;
    let port = record.mapped(record.port()?)?;
    let secret = Some(&marks.secret).filter(|secret| !secret.is_empty());
    Some(Address {
        url: format!("http://{}", std::net::SocketAddr::new(ip, port)),
        headers: secret
            .map(|secret| (SECRET_HEADER.to_owned(), secret.clone()))
            .into_iter()
            .collect(),
        own_host: true,
        ..Address::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn seen(more: Value) -> ProviderInstance {
        let mut record = json!({
            "id": 7, "label": "tc-o-k", "actual_status": "running", "intended_status": "running",
            "public_ipaddr": "63.135.50.11\n", "dph_total": 0.41,
            "ports": { "8000/tcp": [{ "HostIp": "0.0.0.0", "HostPort": "40123" }] },
            "extra_env": [["-p 8000:8000", "1"], ["THERMOCLINE_OWNER", "o"], ["THERMOCLINE_KEY", "k"],
                ["THERMOCLINE_BACKEND_SECRET", "s3cret"]],
        });
        for (key, value) in more.as_object().unwrap() {
            record[key] = value.clone();
        }
        let record: Record = serde_json::from_value(record).unwrap();
        instance(&record, &Marks::read(&record.env().unwrap()).unwrap())
    }

    #[test]
    fn one_that_runs_is_reached_at_its_mapped_port_with_its_secret() {
        let it = seen(json!({}));
        assert_eq!((it.id.as_str(), it.usd_per_hour), ("7", Some(0.41)));
        let address = it.address.unwrap();
        assert_eq!(address.url, "http://63.135.50.11:40123");
        assert_eq!(address.headers[SECRET_HEADER], "s3cret");
    }

    #[test]
    fn one_whose_port_is_not_mapped_yet_is_starting() {
        for ports in [
            json!(null),
            json!({}),
            json!([8080]),
            json!({ "22/tcp": [{ "HostPort": "1" }] }),
        ] {
            let it = seen(json!({ "ports": ports }));
            assert_eq!(
                (it.state, it.address),
                (ProviderState::Starting, None),
                "{ports}"
            );
        }
        let nowhere = seen(json!({ "public_ipaddr": "a/b" }));
        assert_eq!(nowhere.state, ProviderState::Starting);
    }

    #[test]
    fn what_never_runs_again_has_failed_and_what_is_odd_is_waited_for() {
        let of = |actual: Value, intended: &str| {
            let it = seen(json!({ "actual_status": actual, "intended_status": intended }));
            (it.state, it.detail)
        };
        for word in ["exited", "unknown", "offline", "stopped"] {
            let (state, detail) = of(json!(word), "stopped");
            assert_eq!(state, ProviderState::Failed);
            assert_eq!(detail, format!("the instance is {word}"));
        }
        assert!(of(json!("stopped"), "running").1.contains("bids more"));
        for word in [
            json!(null),
            json!("created"),
            json!("loading"),
            json!("rebooting"),
            json!("HUM"),
        ] {
            assert_eq!(of(word, "running").0, ProviderState::Starting);
        }
    }
}
