use serde_json::{Value, json};

use super::*;

fn found(state: Value) -> ContainerInspectResponse {
    serde_json::from_value(json!({
        "Id": "77d83b64492d",
        "State": state,
        "Config": { "Labels": {
            "thermocline.owner": "home",
            "thermocline.instance": "01JKEY",
        }},
        "NetworkSettings": { "Ports": {
            "8000/tcp": [{ "HostIp": "127.0.0.1", "HostPort": "49153" }],
            "9000/tcp": null,
        }},
    }))
    .unwrap()
}

fn seen(state: Value) -> ProviderInstance {
    instance(&found(state), false).unwrap()
}

#[test]
fn a_running_container_is_reached_on_loopback() {
    let running = seen(json!({ "Status": "running" }));
    assert_eq!(running.state, ProviderState::Ready);
    assert_eq!(running.address.unwrap().url, "http://127.0.0.1:49153");
    assert_eq!(running.key, "01JKEY");
    assert_eq!(running.usd_per_hour, Some(0.0));
}

#[test]
fn a_running_container_without_its_port_is_still_starting() {
    let mut unbound = found(json!({ "Status": "running" }));
    unbound.network_settings = None;
    let seen = instance(&unbound, false).unwrap();
    assert_eq!((seen.state, seen.address), (ProviderState::Starting, None));
}

#[test]
fn every_state_has_one_meaning() {
    let cases = [
        ("created", ProviderState::Starting),
        ("restarting", ProviderState::Starting),
        ("paused", ProviderState::Starting),
        ("running", ProviderState::Ready),
        ("removing", ProviderState::Stopping),
        ("exited", ProviderState::Failed),
        ("dead", ProviderState::Failed),
    ];
    for (status, expected) in cases {
        let seen = seen(json!({ "Status": status }));
        assert_eq!(seen.state, expected, "{status}");
        assert_eq!(seen.address.is_some(), expected == ProviderState::Ready);
    }
}

#[test]
fn an_ended_container_says_how() {
    let cases = [
        (
            json!({ "Status": "exited", "ExitCode": 3 }),
            "exited with code 3",
        ),
        (
            json!({ "Status": "exited", "ExitCode": 0 }),
            "exited with code 0",
        ),
        (
            json!({ "Status": "exited", "ExitCode": 137, "OOMKilled": true }),
            "exited with code 137: out of memory",
        ),
        (
            json!({ "Status": "exited", "ExitCode": 127 }),
            "exited with code 127: the command was not found in the image",
        ),
    ];
    for (state, detail) in cases {
        assert_eq!(seen(state).detail, detail);
    }
}

#[test]
fn what_we_are_stopping_has_no_address_any_more() {
    let ending = instance(&found(json!({ "Status": "running" })), true).unwrap();
    assert_eq!(
        (ending.state, ending.address),
        (ProviderState::Stopping, None)
    );
}

#[test]
fn a_container_without_our_label_is_none_of_ours() {
    let mut stranger = found(json!({ "Status": "running" }));
    stranger.config = None;
    assert_eq!(instance(&stranger, false), None);
}

#[test]
fn a_husk_is_what_failed_to_start() {
    let error = "port is already allocated";
    assert!(is_husk(&found(
        json!({ "Status": "created", "Error": error })
    )));
    assert!(!is_husk(&found(
        json!({ "Status": "created", "Error": "" })
    )));
    assert!(!is_husk(&found(
        json!({ "Status": "exited", "Error": error })
    )));
}
